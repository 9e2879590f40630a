"""Agents that people run, in front of a scripted model: run by `make clients`, not by `make test`."""
