"""Sessions that come from elsewhere, or are put away: what was said there is no authority here."""
