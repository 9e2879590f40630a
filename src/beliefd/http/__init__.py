"""The HTTP entrypoint: it parses, authenticates and answers; it decides nothing."""
