"""For tests of beliefd and of what others build on it: a world, the store contract, strategies."""
