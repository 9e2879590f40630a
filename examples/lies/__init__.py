"""The lies that `examples/liar.py` tells, by what they are about, and how it looks at what came of them."""
