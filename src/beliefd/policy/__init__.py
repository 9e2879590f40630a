"""Policies as files under version control: read, checked with line numbers, adopted whole or not at all."""
