"""The pure heart: `decide` is told everything it needs, `evolve` folds what was decided."""
