"""beliefd inside agents' frameworks: one module per framework, one decision for all of them."""
