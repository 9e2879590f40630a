"""The two agents at the bridge between the lanes: one imagines, the other designs experiments."""
