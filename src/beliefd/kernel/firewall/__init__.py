"""The epistemic firewall: speculation may inform, only experiments may convince."""
