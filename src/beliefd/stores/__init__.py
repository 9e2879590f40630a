"""Where ledgers live. One technology a file; all pass `beliefd.testing.store_contract`."""
