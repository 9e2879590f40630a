"""What the tests of real clients share: their installation, a scripted model, and one runner per client."""
