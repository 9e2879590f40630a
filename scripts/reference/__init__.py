"""Makes docs/reference from the code, so that it cannot tell another story."""
