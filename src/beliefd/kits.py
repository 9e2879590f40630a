"""Kits: an investigation as data: what could be the case, what can be probed, what each outcome rules out.

A kit is an adapter's knowledge, not the server's: beliefd itself only ever sees the eliminations.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from beliefd.documents import read_document
from beliefd.kernel.errors import invalid
from beliefd.kernel.values import Count, Id, OntologyBundle, Value
from beliefd.protocol.wire import convert

_PACKAGED = Path(__file__).with_name("kits")
_CHECKOUT = Path(__file__).parents[2] / "examples" / "kits"


class ProbeOutcome(Value, frozen=True):
    """One way a probe can come out. Without `seen_under` it is what all other causes show."""

    eliminates: tuple[Id, ...] | Literal["others"]
    because: str
    seen_under: tuple[Id, ...] | None = None


class Probe(Value, frozen=True):
    """Something that can be asked of the world, and who answers."""

    id: Id
    ask: str
    source: Id
    outcomes: Annotated[dict[Id, ProbeOutcome], msgspec.Meta(min_length=2)]


class KitObligation(Value, frozen=True):
    id: Id
    min_total_eliminations: Count
    why: str


class KitRemedy(Value, frozen=True):
    """What the agent wants to do about the truth, and what it costs if that is wrong."""

    finding: str
    action: str
    if_wrong_cost: str


class Kit(Value, frozen=True):
    """`truth` is what the kit's own story hides; `conclusion` names a finding by its `{hypothesis}`."""

    kit: Id
    version: Id
    title: str
    story: str
    causal_graph_ref: Id
    causal_graph_version: Id
    hypotheses: Annotated[dict[Id, str], msgspec.Meta(min_length=2)]
    probes: Annotated[tuple[Probe, ...], msgspec.Meta(min_length=1)]
    obligation: KitObligation
    tempting: Id
    truth: Id
    conclusion: str
    remedy: KitRemedy | None = None

    @property
    def ontology(self) -> OntologyBundle:
        return OntologyBundle(
            hypothesis_space_id=self.kit,
            hypothesis_version=self.version,
            causal_graph_ref=self.causal_graph_ref,
            causal_graph_version=self.causal_graph_version,
        )

    def seen(self, probe: Probe, cause: str) -> str:
        """The outcome that `probe` has when `cause` is the case."""
        for name, outcome in probe.outcomes.items():
            if outcome.seen_under is not None and cause in outcome.seen_under:
                return name
        return next(name for name, outcome in probe.outcomes.items() if outcome.seen_under is None)

    def eliminated(self, probe: Probe, outcome: str) -> tuple[str, ...]:
        """What `outcome` of `probe` rules out."""
        ruled_out = probe.outcomes[outcome].eliminates
        if ruled_out == "others":
            return tuple(cause for cause in self.hypotheses if self.seen(probe, cause) != outcome)
        return tuple(ruled_out)

    def concluded(self, hypothesis: str) -> str:
        return self.conclusion.replace("{hypothesis}", hypothesis)


def names() -> list[str]:
    """The kits that come with beliefd."""
    return sorted(path.stem for path in _folder().glob("*.yaml"))


def policy_file(name: str) -> Path:
    """The policy that goes with a shipped kit."""
    return _folder() / "policies" / f"{name}.yaml"


def load(name: str | Path) -> Kit:
    """Read and check a kit: a shipped one by name, any other by the path of its file."""
    path = Path(name)
    if path.suffix not in (".yaml", ".yml", ".json"):
        if str(name) not in names():
            known = ", ".join(f"`{known}`" for known in names())
            raise invalid(f"no kit `{name}`; there are {known}, or name a file")
        path = _folder() / f"{name}.yaml"
    return check(read_document(path))


def check(document: Any) -> Kit:
    """INVARIANT: a kit that loads cannot mislead: no probe rules out the truth, together they isolate it."""
    _refuse_boolean_keys(document, "$")
    kit = convert(document, Kit)
    _declared([kit.truth], kit, "$.truth")
    _declared([kit.tempting], kit, "$.tempting")
    if "{hypothesis}" not in kit.conclusion:
        raise invalid("a conclusion must name its `{hypothesis}`", "$.conclusion")
    seen_ids: set[str] = set()
    for index, probe in enumerate(kit.probes):
        if probe.id in seen_ids:
            raise invalid(f"probe `{probe.id}` is there twice", f"$.probes[{index}].id")
        seen_ids.add(probe.id)
        _check_probe(kit, probe, f"$.probes[{index}].outcomes")
    for cause in kit.hypotheses:
        _check_reachable(kit, cause)
    if kit.obligation.min_total_eliminations >= len(kit.hypotheses):
        raise invalid(
            f"at most {len(kit.hypotheses) - 1} causes can fall before one is left",
            "$.obligation.min_total_eliminations",
        )
    return kit


def _check_probe(kit: Kit, probe: Probe, path: str) -> None:
    catch_all = [name for name, outcome in probe.outcomes.items() if outcome.seen_under is None]
    if len(catch_all) > 1:
        raise invalid(f"only one outcome may go without `seen_under`, not `{catch_all[1]}` too", path)
    shown_by: dict[str, str] = {}
    for name, outcome in probe.outcomes.items():
        _declared(outcome.seen_under or (), kit, f"{path}.{name}.seen_under")
        if outcome.eliminates != "others":
            _declared(outcome.eliminates, kit, f"{path}.{name}.eliminates")
        for cause in outcome.seen_under or ():
            if cause in shown_by:
                raise invalid(
                    f"`{cause}` shows both `{shown_by[cause]}` and `{name}`", f"{path}.{name}.seen_under"
                )
            shown_by[cause] = name
    hidden = [cause for cause in kit.hypotheses if cause not in shown_by]
    if hidden and not catch_all:
        raise invalid(f"no outcome is seen under `{hidden[0]}`", path)
    for cause in kit.hypotheses:
        name = kit.seen(probe, cause)
        if cause in kit.eliminated(probe, name):
            raise invalid(
                f"`{name}` is seen under `{cause}` and eliminates it all the same",
                f"{path}.{name}.eliminates",
            )


def _check_reachable(kit: Kit, cause: str) -> None:
    left = set(kit.hypotheses)
    for probe in kit.probes:
        left -= set(kit.eliminated(probe, kit.seen(probe, cause)))
    if left != {cause}:
        others = ", ".join(f"`{other}`" for other in sorted(left - {cause}))
        raise invalid(f"no probe tells `{cause}` from {others}", f"$.hypotheses.{cause}")


def _declared(ids: Iterable[str], kit: Kit, path: str) -> None:
    for name in ids:
        if name not in kit.hypotheses:
            raise invalid(f"`{name}` is not among the kit's hypotheses", path)


def _refuse_boolean_keys(value: Any, path: str) -> None:
    """An unquoted yes or no is a boolean in YAML; a type error far from the cause would not say so."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(key, bool):
                raise invalid("`yes` and `no` are booleans in YAML; put them in quotes", path)
            _refuse_boolean_keys(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_boolean_keys(item, f"{path}[{index}]")


def _folder() -> Path:
    return _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT
