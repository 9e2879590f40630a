"""Attempts that the firewall stopped before there was a command: they change nothing, and are on record."""
