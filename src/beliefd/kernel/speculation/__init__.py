"""The speculative lane: what is imagined, which may inform experiments and weighs nothing."""
