"""For tests of beliefd and of what others build on it: the store contract, strategies, a frozen outside."""
