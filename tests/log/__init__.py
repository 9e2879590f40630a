"""The log: leaves, checkpoints, proofs, keys, witnesses, anchors."""
