"""The surface as data: every operation, its body and its answer, for server, client and OpenAPI alike."""
