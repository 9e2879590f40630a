"""Judges of entailment between answers: lexical (no model), an LLM over HTTP, a local NLI model."""
