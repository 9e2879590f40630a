"""Tables of words are written as text: words apart by spaces, rows by semicolons."""


def listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def rows(text: str) -> tuple[str, ...]:
    return tuple(" ".join(row.split()) for row in text.split(";") if row.strip())
