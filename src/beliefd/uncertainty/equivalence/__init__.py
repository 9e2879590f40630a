"""Judges of entailment between answers: lexical (no model), embedding, a local NLI model, an LLM."""
