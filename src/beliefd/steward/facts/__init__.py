"""What is found out before a command is decided."""
