"""Where models of users run: as arithmetic, as plain Python in Monty, behind bubblewrap, or not at all."""
