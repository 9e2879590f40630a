"""Context: what an agent was told and what its tools gave back, by digest, and who told it."""
