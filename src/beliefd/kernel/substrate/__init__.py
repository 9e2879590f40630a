"""The symbolic substrate: proposal, validation, execution, commit over namespaced state."""
