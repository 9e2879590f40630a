"""Stand-in until the engine is there."""

from beliefd.kernel.origin import Lexicon


def lexicon(name: str) -> Lexicon:
    return Lexicon()
