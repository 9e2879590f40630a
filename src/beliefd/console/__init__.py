"""The console: pages in a browser, for people who decide, look back and look on. No logic of its own."""
