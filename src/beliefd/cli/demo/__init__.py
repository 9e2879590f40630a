"""What `beliefd demo` plays: the story, those who take part, and the screen that shows it."""
