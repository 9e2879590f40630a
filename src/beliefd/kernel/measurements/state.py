"""What was measured: receipts, and which of them were made for the same words."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

import msgspec
from msgspec.structs import replace

from beliefd.kernel.canonical import digest, digest_of_texts
from beliefd.kernel.labels import SERVER
from beliefd.kernel.parts import EMPTY, Growing, Part
from beliefd.kernel.scan.whole_words import ascii_words_as_json, whole_words
from beliefd.kernel.values import Method, Value

CLOSING: Final = " ."


class Measurement(Value, frozen=True, omit_defaults=True):
    """A receipt. The raw material is in the event that `event_id` names, `material` is its digest.

    `k` is how many answers were compared. `witnesses` are those who drew them and are no agents. What
    `failed` came to nothing, and counts as full uncertainty.
    """

    measurement_id: str
    event_id: str
    method: Method
    value: float
    k: int
    material: str
    words: str
    gist: str
    measured_by: str
    measured_at: str
    interpretation: str = ""
    judge: str = ""
    model: str = ""
    witnesses: tuple[str, ...] = ()
    failed: bool = False


class Measurements(Part, frozen=True):
    """The receipts of a session; `by_words` holds their ids by the gist of the words they are about."""

    by_id: Growing[Measurement] = msgspec.field(default=EMPTY, name="measurements")
    by_words: Growing[tuple[str, ...]] = msgspec.field(default=EMPTY, name="measured_words")

    def with_receipts(self, receipts: Iterable[Measurement]) -> "Measurements":
        by_id, by_words = self.by_id, self.by_words
        for one in receipts:
            by_id = by_id.insert(one.measurement_id, one)
            by_words = by_words.insert(one.gist, (*by_words.get(one.gist, ()), one.measurement_id))
        return replace(self, by_id=by_id, by_words=by_words)

    def about(self, gist: str) -> list[Measurement]:
        """All receipts that were made for words that look like these."""
        return [self.by_id[name] for name in self.by_words.get(gist, ())]


def words_digest(statement: str) -> str:
    """What makes two statements the same words: not white space, nor a full stop at the end."""
    return digest(" ".join(statement.split()).rstrip(CLOSING))


def gist_digest(statement: str) -> str:
    """What makes two statements look the same: letters and digits, whatever their case, accents or script.

    Looser than `words_digest` on purpose: it decides what speaks against a claim, never what speaks for it.
    """
    if not statement.strip():
        return words_digest(statement)
    if statement.isascii():  # as most are, and then nothing has to be looked at or escaped
        return sha256(ascii_words_as_json(statement)).hexdigest()
    return digest_of_texts(whole_words(statement))


def words_for(one: Measurement) -> str:
    """How it came about, as a reviewer reads it."""
    compared = f" over {one.k} answers" if one.k else ""
    judged = f" by the {one.judge} judge" if one.judge else ""
    if one.model:
        drawn = f"asked of `{one.model}` by the server"
        drawn += "" if SERVER in one.witnesses else f", by a question of {one.measured_by}"
    else:
        drawn = f"given by {one.measured_by}"
    return f"{one.method}{judged}{compared}, {drawn}"
