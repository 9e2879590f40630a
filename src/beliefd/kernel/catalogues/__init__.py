"""Catalogues: the tools that a server of tools offers, as they were when somebody first saw them."""
