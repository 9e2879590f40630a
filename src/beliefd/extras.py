"""How to get what a plain install leaves out: in one place, so that it is true wherever it is said."""


def install(extra: str) -> str:
    """For an installed package, and for a checkout, of which no index needs to know."""
    return f"`pip install 'beliefd[{extra}]'` brings it; in a checkout, `pip install -e '.[{extra}]'` does"
