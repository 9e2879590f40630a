"""One file for each template: what it draws, what it decides by, and what it finds out about itself."""
