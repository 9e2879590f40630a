"""What the steward found out about a bundle before the gates ran; recorded beside the decision."""

from typing import Literal

from msgspec import UNSET, UnsetType

from beliefd.kernel.approvals.findings import Authority, ByRights, ByWords
from beliefd.kernel.claims.endings import PublishedBundle
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.labels import Bringer
from beliefd.kernel.measurements.findings import MeasurementFindings
from beliefd.kernel.values import TierName, Value


class RejectedBefore(Value, frozen=True, omit_defaults=True):
    """Who rejected the same words, when and why; `session_id` is there if that was in another session."""

    by: str
    at: str
    reason: str = ""
    session_id: str = ""

    @property
    def told(self) -> str:
        where = f" in session `{self.session_id}`" if self.session_id else ""
        why = f": {self.reason}" if self.reason else ""
        return f"the same words were rejected by {self.by} on {self.at}{where}{why}"


class Unread(Value, frozen=True):
    """Of more than `limit` things that a bundle cites, those that were not looked at."""

    limit: int
    names: tuple[str, ...]


class ClaimFindings(Value, frozen=True, tag_field="of", tag="claims"):
    """Facts for the gates. `content` says, for each SHA-256 whose bytes are at hand, whether they match.

    `others` is there if more than one detector was asked: what those after the first found. `brought` says
    who stored that content. `seen` are the cited calls whose results say what no caller of the session had
    put in. `unheard` are cited calls and `unhashed` is stored content that were not looked at, because the
    bundle cites too many, and `unread` are cited calls whose caller had put in more than can be compared;
    entries without them say of such what they say of what nobody has seen.
    `measured` is what came of the raw answers that came with claims, by the claim's id. `tools` are
    the tiers, as registered, declared or pinned, of the tools that claims name; one that is not there is not
    known. Of a tool in a catalogue the name is the catalogue's, a line break and its own.
    Entries without it are older than the rules about origins, actions and evidence, and are judged without
    them. `fallen` is there if claims are about eliminated hypotheses: the event that eliminated each.
    `rejected` is what people rejected in other sessions, by the digest of the words. Entries without it are
    older than the rule that a gate which people overrode did not pass. `corrected` is the published bundle
    that this one corrects. `pending` is there if as many items wait because of the proposer as policy
    allows: how many those are. `authority` is how those stand now whose word or tier is used. Entries without
    it are older than the rules that authority is judged when it is used, and that a yes answers the gates
    that were shown. With `by_rights`, that standing is the one in the session's space. With `by_words`,
    it is remembered by the words alone who shaped a claim. With `by_results`, a yes answers what the gates
    had found when it was asked for: one that has found something else since, or worse, asks again.
    """

    threat: Threat
    others: tuple[Threat, ...] | UnsetType = UNSET
    content: dict[str, Literal["match", "mismatch"]] = {}
    brought: dict[str, tuple[Bringer, ...]] | UnsetType = UNSET
    seen: tuple[str, ...] | UnsetType = UNSET
    unheard: Unread | UnsetType = UNSET
    unread: Unread | UnsetType = UNSET
    unhashed: Unread | UnsetType = UNSET
    recent: int = 0
    origin: str | None = None
    measured: dict[str, MeasurementFindings] | UnsetType = UNSET
    tools: dict[str, TierName] | UnsetType = UNSET
    fallen: dict[str, str] | UnsetType = UNSET
    rejected: dict[str, RejectedBefore] | UnsetType = UNSET
    corrected: PublishedBundle | UnsetType = UNSET
    pending: int | UnsetType = UNSET
    authority: Authority | UnsetType = UNSET
    by_rights: ByRights = UNSET
    by_words: ByWords = UNSET
    by_results: bool | UnsetType = UNSET

    @property
    def threats(self) -> tuple[Threat, ...]:
        """What every detector found that was asked."""
        return (self.threat, *(self.others or ()))
