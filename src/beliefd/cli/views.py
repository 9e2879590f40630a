"""Answers drawn for people. Every text that came from outside goes through `visible` first."""

import json
from typing import Any

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.protocol.beliefs import (
    BeliefSnapshot,
    Concluded,
    Declared,
    Eliminated,
    Recorded,
    Ruled,
    SessionPage,
)
from beliefd.protocol.ledger import Counterfactual, Imported, Verified, Why

SHOWN_NAMES = 120
BAR = 30
SUBSTRATE_KINDS = (
    "arbitrated", "outcome_recorded", "capability_issued", "capability_revoked", "remembered"
)  # fmt: skip
CLAIM_KINDS = ("bundle_gated", "approval_decided", "approval_closed", "grant_given", "grant_revoked")
STATUS_STYLE = {"open": "cyan", "singleton": "green", "exhausted": "bold red", "terminated": "dim"}


def bar(done: int, total: int, width: int = BAR) -> str:
    filled = round(width * done / total) if total else 0
    return "█" * filled + "░" * (width - filled)


def named(ids: list[str], limit: int = 8) -> str:
    shown = ", ".join(visible(name) for name in ids[:limit])
    return shown + (f" and {len(ids) - limit} more" if len(ids) > limit else "")


def measure(snapshot: BeliefSnapshot) -> Text:
    """How far the session has come. Zero bits alone would make a contradiction look like certainty."""
    return Text.assemble(
        (bar(snapshot.n_survivors, snapshot.n_hypotheses), "cyan"),
        f"  {snapshot.n_survivors} of {snapshot.n_hypotheses} left, {snapshot.entropy_proxy:.2f} bits, ",
        (snapshot.status, STATUS_STYLE[snapshot.status]),
    )


def snapshot(answer: BeliefSnapshot) -> RenderableType:
    lines: list[RenderableType] = [
        Text.assemble(("session ", "dim"), answer.session_id, ("  event ", "dim"), str(answer.seq)),
        measure(answer),
        Columns([Text(visible(name), "bold") for name in answer.survivors[:SHOWN_NAMES]], padding=(0, 2)),
    ]
    hidden = answer.n_survivors - min(len(answer.survivors), SHOWN_NAMES)
    if hidden > 0:
        lines.append(Text(f"and {hidden} more; `--json` lists them", "dim"))
    for item in answer.obligations:
        done = min(item.eliminations_since_entry, item.min_total_eliminations)
        state = ("active", "yellow") if item.active else ("released", "green")
        lines.append(
            Text.assemble(
                ("obligation ", "dim"),
                visible(item.obligation_id),
                f"  {bar(done, item.min_total_eliminations, 10)} ",
                f"{item.eliminations_since_entry} of {item.min_total_eliminations} eliminations, ",
                state,
            )
        )
    for name, times in answer.conclusions.items():
        again = f" ({times} times)" if times > 1 else ""
        lines.append(Text.assemble(("conclusion ", "dim"), (visible(name), "green"), again))
    return Group(*lines)


def declared(answer: Declared) -> RenderableType:
    return snapshot(answer.snapshot)


def eliminated(answer: Eliminated) -> RenderableType:
    fell = Text.assemble(
        (f"{len(answer.applied_eliminated)} fell", "bold"),
        ": " if answer.applied_eliminated else "",
        named(answer.applied_eliminated),
    )
    if answer.ignored_eliminated:
        fell.append(f"; ignored: {named(answer.ignored_eliminated)}", "dim")
    return Group(fell, snapshot(answer.snapshot))


def recorded(answer: Recorded) -> RenderableType:
    return snapshot(answer.snapshot)


def ruling(answer: Ruled | Concluded) -> RenderableType:
    if isinstance(answer, Ruled):
        verdict = ("approved", "green") if answer.approved else ("refused", "bold red")
    else:
        verdict = ("accepted", "green") if answer.accepted else ("refused", "bold red")
    return Group(Text.assemble(verdict, f": {visible(answer.reason)}"), snapshot(answer.snapshot))


def imported(answer: Imported) -> RenderableType:
    return Group(Text(f"took in {answer.events} verified events", "green"), snapshot(answer.snapshot))


def sessions(page: SessionPage) -> RenderableType:
    table = Table("session", "space", "left", "bits", "status", "events", box=None, pad_edge=False)
    for item in page.sessions:
        table.add_row(
            item.session_id,
            Text(visible(item.ontology.hypothesis_space_id)),
            f"{item.n_survivors}/{item.n_hypotheses}",
            f"{item.entropy_proxy:.2f}",
            Text(item.status, STATUS_STYLE[item.status]),
            str(item.seq),
        )
    if not page.sessions and not page.broken:
        return Text("no sessions", "dim")
    parts: list[RenderableType] = [table] if page.sessions else []
    parts += [
        Text(f"{broken.session_id} is broken at event {broken.seq}: {visible(broken.reason)}", "red")
        for broken in page.broken
    ]
    if page.next:
        parts.append(Text(f"more: --cursor {page.next}", "dim"))
    return Group(*parts)


def why(answer: Why) -> RenderableType:
    standing = ("survives", "green") if answer.survives else ("eliminated", "red")
    lines: list[RenderableType] = [Text.assemble((visible(answer.hypothesis), "bold"), ": ", standing)]
    for item in answer.events:
        lines.append(
            Text.assemble(
                (f"  #{item.seq:<5}", "dim"),
                ("fell to   " if item.applied else "also said ", "red" if item.applied else "dim"),
                (visible(item.source_id), "bold"),
                f" on {visible(item.observation_id)}",
                (f"  merged from {item.merged_from}" if item.merged_from else "", "dim"),
                (f"  {_reason(item.justification)}" if item.justification else ""),
            )
        )
    if not answer.events:
        lines.append(Text("  nobody has spoken against it", "dim"))
    return Group(*lines)


def counterfactual(answer: Counterfactual) -> RenderableType:
    lines: list[RenderableType] = [
        Text.assemble(
            "without ",
            (named(answer.without_source_ids), "bold"),
            f": {answer.n_survivors} left, ",
            (answer.status, STATUS_STYLE[answer.status]),
        ),
        Text(f"would stand again: {named(answer.restored) or 'nothing'}"),
    ]
    for item in answer.conclusions:
        rests = ("rests on them", "red") if item.rests_on_removed else ("does not rest on them", "green")
        counts = f" ({item.n_survivors_then} left then, {item.n_survivors_without} without)"
        lines.append(Text.assemble("conclusion ", (visible(item.conclusion_id), "bold"), " ", rests, counts))
        for source, names in item.sole_sources.items():
            lines.append(Text(f"  only {visible(source)} spoke against {named(names)}", "dim"))
    return Group(*lines)


def verified(answer: Verified) -> Text:
    if answer.first_bad is None:
        head = answer.head.hash[:16] if answer.head else "-"
        return Text.assemble(("verified", "green"), f": {answer.checked} events, head {head}")
    bad = answer.first_bad
    return Text.assemble(
        ("broken", "bold red"),
        f": event {bad.seq} ({visible(bad.event_id or 'missing')}): {visible(bad.reason)}",
        (f"; the {answer.checked} before it hold", "dim"),
    )


def event(entry: dict[str, Any]) -> Text:
    """One line of the timeline: when, who, what was asked, and what became of it."""
    delta = entry["delta"]
    return Text.assemble(
        (f"#{entry['seq']:<5}", "dim"),
        (f"{visible(str(entry['ts']))[11:23]}  ", "dim"),
        (f"{visible(str(entry['verb'])):<20} ", "bold"),
        f"{visible(str(entry['actor']['id']))}  ",
        _what(entry["payload"], delta),
    )


def _what(payload: dict[str, Any], delta: dict[str, Any]) -> Text:
    kind = delta.get("kind")
    if kind == "refused":
        return Text.assemble(("refused ", "bold red"), f"{delta['code']}: {visible(str(delta['message']))}")
    if kind == "declared":
        return Text(f"{len(payload['hypotheses'])} hypotheses")
    if kind in ("eliminated", "merged"):
        fell = delta["eliminated"]
        text = Text.assemble((f"{len(fell)} fell", "red" if fell else "dim"))
        text.append(f": {named(fell)}" if fell else "")
        if kind == "merged":
            text.append(f"  (replica at event {payload['replica_head']['seq']})", "dim")
        else:
            source = f"  {visible(payload['source_id'])} on {visible(payload['observation_id'])}"
            text.append(source, "dim")
        return text
    if kind == "obligation_entered":
        return Text(
            f"{visible(delta['obligation_id'])}: {delta['min_total_eliminations']} eliminations first"
        )
    if kind in CLAIM_KINDS:
        return _claim_event(delta)
    if kind in SUBSTRATE_KINDS:
        return _substrate_event(payload, delta)
    granted = delta.get("approved", delta.get("accepted"))
    about = visible(str(delta.get("obligation_id") or delta.get("conclusion_id") or ""))
    verdict = ("granted ", "green") if granted else ("refused ", "bold red")
    return Text.assemble(
        verdict, f"{about}: " if about else "", (visible(str(delta.get("reason", ""))), "dim")
    )


def _substrate_event(payload: dict[str, Any], delta: dict[str, Any]) -> Text:
    """Proposals and calls: every verdict, or what became of one call."""
    kind = delta["kind"]
    if kind == "arbitrated":
        pairs = zip(payload["candidates"], delta["results"], strict=True)
        return Text("  ").join(_verdict(result, _asked(candidate)) for candidate, result in pairs)
    if kind == "outcome_recorded":
        call = delta["call"]
        return Text(f"{visible(call['tool_id'])}: {call['status']} {visible(delta['error'])}")
    if kind == "remembered":
        entry = delta["entry"]
        doubt = "" if delta["confirmed"] else ", unconfirmed"
        return Text(f"{entry['kind']} {visible(entry['memory_id'])}{doubt}")
    capability = delta["capability"]
    return Text(f"{visible(capability['capability_id'])} for {visible(capability['agent_id'])}")


def _asked(candidate: dict[str, Any]) -> str:
    if candidate["kind"] == "tool_call":
        return visible(candidate["tool_id"])
    patch = candidate["patch"]
    return named([*patch["set"], *patch["remove"]], 3)


def _verdict(result: dict[str, Any], about: str) -> Text:
    style = "green" if result["verdict"] == "allow" else "bold red"
    return Text.assemble((result["verdict"], style), f" {about} ", (result["reason_code"], "dim"))


def _claim_event(delta: dict[str, Any]) -> Text:
    """Claims and approvals: what was decided, on which bundle, and who said so."""
    kind = delta["kind"]
    if kind in ("grant_given", "grant_revoked"):
        grant = delta["grant"]
        word = "granted" if kind == "grant_given" else "revoked"
        return Text(f"{word} {', '.join(grant['tiers'])} to {visible(grant['principal'])}")
    bundle = (delta.get("gated") or {}).get("bundle") or delta.get("bundle")
    text = Text()
    if kind == "approval_decided":
        text.append(f"{delta['decision']} {delta['approval_id']}  ", "bold")
    elif kind == "approval_closed":
        text.append(f"{delta['outcome']} {delta['approval_id']}  ", "bold")
    if delta.get("result") is not None:
        return text.append_text(_verdict(delta["result"], "the call,"))
    if bundle is None:
        waits = delta["approval"]["status"] == "pending"
        return text.append("more people must agree" if waits else delta["approval"]["status"], "dim")
    style = "green" if bundle["decision"] == "PUBLISH" else "bold red"
    return text.append(bundle["decision"], style).append(
        f" {visible(bundle['id'])}: {visible(bundle['reason'])}", "dim"
    )


def _reason(justification: dict[str, Any]) -> str:
    text = justification.get("because")
    return visible(text if isinstance(text, str) else json.dumps(justification, ensure_ascii=False))
