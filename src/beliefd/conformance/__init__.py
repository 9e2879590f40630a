"""What the four specifications ask for, clause by clause, and the vectors that show it: `beliefd conform`."""
