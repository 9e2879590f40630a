"""Claims: what agents say, the evidence behind it, five gates, and the people who decide (claim-bundle)."""
