"""Where models of users run: as arithmetic, or as plain Python in Monty."""
