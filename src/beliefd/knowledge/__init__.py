"""Propositions, evidence and what lies between them as a graph, folded from all ledgers."""
