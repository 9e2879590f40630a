"""What can go wrong with foreign code. None of it carries a word of that code."""


class ModelFailed(Exception):
    """The model could not be run, or was stopped; the run counts as failed."""
