"""Peers that pull in more than a benchmark should: asked in an environment of their own, answers in JSON."""
