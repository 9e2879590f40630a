"""Sessions that began elsewhere: what was said there is on record, and is no authority here."""
