"""Experiments that a statistician would sign: templates, an engine that runs them, and where."""
