"""In front of agents that people already use: what their hooks say, and what they are told."""
