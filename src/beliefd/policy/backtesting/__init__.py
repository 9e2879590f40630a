"""Recorded runs of other systems: one reader per format, all of which give the same steps."""
