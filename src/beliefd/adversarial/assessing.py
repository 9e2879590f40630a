"""How hostile a bundle's texts look. Deterministic, pure, and linear in what it reads.

The score is a noisy-or over kinds: 1 - product(1 - strongest weight of each kind). One strong signal (0.75
and up) passes the gate's 0.70; repeating a weak one does not; weak ones of different kinds may.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from beliefd.adversarial import characters, views
from beliefd.adversarial.builtin import DETECTOR
from beliefd.adversarial.scan import Look, hits, look
from beliefd.kernel.claims.threat import Signal, Threat
from beliefd.kernel.values import Tier

ENCODING: Final = "encoding"
ESCALATION: Final = "escalation_chain"
MENTION: Final = "mention"
UNREAD: Final = "unread"

# A whole number, as ledgers write it: so nobody has to look for a way to write it.
_HARMLESS: Final = Threat(detector=DETECTOR, score=0)

MAX_READ: Final = 65_536
"""Characters read of one text. A longer one is a signal by itself: nobody vouches for what was not read."""

MAX_TRAIL: Final = 16
MAX_SIGNALS: Final = 32
_EXCERPT: Final = 80
_DECODINGS: Final = 2
_DISGUISED: Final = 0.6
_MENTIONED: Final = 0.3
_UNREAD: Final = 0.75
_MIXED: Final = (0.0, 0.45, 0.75)
"""By the number of words that mix scripts."""
_CLIMB: Final = (0.0, 0.2, 0.5, 0.75, 0.8)
"""By the number of times the tier rose before it reached DELETE or PRIVILEGE."""


def threat_of(texts: Sequence[tuple[str, str]], tier: int, trail: Sequence[int]) -> Threat:
    """See `assess`."""
    signals = list(_escalation(tier, trail))
    # Most bundles hold nothing of note, and one look at all of their text at once, each once, is cheapest.
    different = dict.fromkeys([text for _, text in texts])
    at_once = "\n".join(different)
    if at_once.isascii() and len(at_once) <= MAX_READ and not any(look(at_once)):
        return _threat(signals)
    ordinary = []
    for path, text in texts:
        plain = text if text.isascii() else characters.plain(text[:MAX_READ])
        if plain.isascii() and len(text) <= MAX_READ:
            ordinary.append((path, plain))
        else:
            signals += _read_closely(path, text, plain)
    wider = look("\n".join([plain for _, plain in ordinary]))
    if any(wider):
        for path, plain in ordinary:
            if wider.concerns(plain.lower()) and any(here := look(plain, wider)):
                signals += _read(path, plain, plain, here)
    return _threat(signals)


def _threat(signals: list[Signal]) -> Threat:
    if not signals:
        return _HARMLESS
    strongest: dict[str, float] = {}
    for one in signals:
        strongest[one.kind] = max(one.weight, strongest.get(one.kind, 0.0))
    harmless = 1.0
    for weight in sorted(strongest.values()):  # sorted, so that the order of texts cannot move the last digit
        harmless *= 1.0 - weight
    listed = sorted(
        {one for one in signals if one.weight}, key=lambda s: (-s.weight, s.kind, s.path, s.excerpt)
    )
    return Threat(detector=DETECTOR, score=round(1.0 - harmless, 4), signals=tuple(listed[:MAX_SIGNALS]))


def _read_closely(path: str, text: str, plain: str) -> Iterator[Signal]:
    """Signals of a text that is long, or more than a plain keyboard can write."""
    if len(text) > MAX_READ:
        yield signal(UNREAD, _UNREAD, path, f"{len(text)} characters, {MAX_READ} read")
        text, plain = text[:MAX_READ], plain[:MAX_READ]
    if unseen := characters.UNSEEN.search(text):
        yield signal(
            characters.INVISIBLE, characters.unseen_weight(text), path, text[max(0, unseen.start() - 20) :]
        )
    if mixed := characters.mixed_words(text):
        yield signal(characters.LOOK_ALIKE, _MIXED[min(len(mixed), 2)], path, " ".join(mixed[:8]))
    yield from _read(path, text, plain, look(plain))


def _read(path: str, text: str, plain: str, here: Look) -> Iterator[Signal]:
    """Signals of what a text says: openly, or once a disguise is taken off."""
    open_rules = set()
    for hit in hits(plain.lower(), here, may_report=True):
        open_rules.add(hit.rule)
        kind, weight = (MENTION, _MENTIONED) if hit.reported else (hit.rule.kind, hit.rule.weight)
        yield signal(kind, weight, path, hit.text)
    for disguise, reading, there in _readings(text, plain, here):
        for hit in hits(reading, there, may_report=False):
            if hit.rule not in open_rules:
                yield signal(hit.rule.kind, hit.rule.weight, path, hit.text)
                yield signal(disguise, _DISGUISED, path, hit.text)


def _readings(text: str, plain: str, here: Look) -> Iterator[tuple[str, str, Look]]:
    """(disguise, the lower-case text without it, a look at that); encodings are taken off twice."""
    yield from _undisguised(text, plain, here)
    for _ in range(_DECODINGS):
        if not here.encoded:
            return
        text = views.decoded(text)[:MAX_READ]
        plain = characters.plain(text)
        here = look(plain)
        yield ENCODING, plain.lower(), here
        for _, reading, there in _undisguised(text, plain, here):
            yield ENCODING, reading, there


def _undisguised(text: str, plain: str, here: Look) -> Iterator[tuple[str, str, Look]]:
    if not plain.isascii():
        if characters.UNSEEN.search(text):
            for reading in (characters.visible(text), characters.smuggled(text)):
                seen = characters.plain(reading)
                yield characters.INVISIBLE, seen.lower(), look(seen)
        bare = characters.skeleton(text)[:MAX_READ]
        if bare != plain:
            plain, here = bare, look(bare)
            yield characters.LOOK_ALIKE, bare.lower(), here
    if here.respelt:
        for reading in views.respelt(plain.lower()):
            yield ENCODING, reading, look(reading)._replace(respelt=True)


def _escalation(tier: int, trail: Sequence[int]) -> Iterator[Signal]:
    """Tiers that climb, bundle by bundle, to DELETE or PRIVILEGE; dips in between do not hide the climb."""
    tiers = [*trail[-MAX_TRAIL:], tier]
    if tier < Tier.DELETE or tier < max(tiers):
        return
    highs = [high for at, high in enumerate(tiers) if high > max(tiers[:at], default=-1)]
    names = [Tier(high).name if high <= Tier.PRIVILEGE else str(high) for high in highs]
    yield signal(ESCALATION, _CLIMB[min(len(highs) - 1, len(_CLIMB) - 1)], "$", " > ".join(names))


def signal(kind: str, weight: float, path: str, excerpt: str) -> Signal:
    return Signal(kind=kind, weight=weight, path=_shown(path), excerpt=_shown(excerpt.strip()[:_EXCERPT]))


def _shown(text: str) -> str:
    """Text that a person can see and a ledger can hash: whatever is hidden, or no character, as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() and not characters.UNSEEN.match(c) else f"\\u{{{ord(c):x}}}" for c in text
    )
