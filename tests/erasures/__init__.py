"""Parts beside the ledger: withheld, shown, erased."""
