"""Observations: values that were taken from somewhere, frozen, and labelled by how they came to be."""
