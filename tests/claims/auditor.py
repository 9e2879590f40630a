"""An auditor who has only the file: JSON, hashes, and times."""

import hashlib
from datetime import datetime
from typing import Any

import msgspec

from beliefd.kernel.canonical import canonical
from tests.claims.support import GATE_NAMES


def audit(exported: bytes) -> None:
    """Read a ledger as an auditor would who has only the file: JSON, hashes and the clock.

    For every published bundle with a DELETE or PRIVILEGE claim, look for the words that let it out: on this
    very content, by people, none of whom proposed it, each in time, and as many as were asked for. Whoever
    said or edited a claim of it at any time before has proposed it, under whatever name.
    """
    entries = [msgspec.json.decode(line) for line in exported.splitlines()[1:]]
    opened: dict[str, dict[str, Any]] = {}
    proposers: dict[str, set[str]] = {}
    shaped: dict[str, set[str]] = {}
    words: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for entry in entries:
        delta, payload, actor = entry["delta"], entry["payload"], entry["actor"]
        if delta["kind"] == "refused":
            continue
        judged: dict[str, Any] = (delta.get("gated") or {}).get("bundle") or {}
        if entry["verb"] == "SUBMIT_CLAIMS":
            proposers[content_of(judged)] = {actor["id"]}
            shape(shaped, judged, actor)
        if entry["verb"] == "DECIDE_APPROVAL":
            item = opened[payload["approval_id"]]
            if payload["decision"] == "APPROVED":
                words.append((entry, item))
            if payload["decision"] == "MODIFIED":
                proposers[content_of(judged)] = {*item["proposers"], actor["id"]}
                shape(shaped, judged, actor)
        for found in ((delta.get("gated") or {}).get("approval"), delta.get("successor")):
            if isinstance(found, dict):
                opened[found["approval_id"]] = found
        if entry["verb"] == "EXPIRE_APPROVAL" and delta["outcome"] == "keep":
            opened[payload["approval_id"]]["expires_at"] = "9999-12-31T23:59:59Z"
        if judged.get("decision") == "PUBLISH":
            was_allowed_out(judged, words, proposers[content_of(judged)])
            nobody_approved_their_own(judged, words, shaped)


def shape(shaped: dict[str, set[str]], judged: dict[str, Any], actor: dict[str, Any]) -> None:
    for claim in judged["claims"]:
        shaped.setdefault(said(claim), set()).add(person(actor))


def said(claim: dict[str, Any]) -> str:
    return canonical({name: value for name, value in claim.items() if name != "id"}).decode()


def person(actor: dict[str, Any]) -> str:
    return str(actor.get("owner", actor["id"]))


def nobody_approved_their_own(
    judged: dict[str, Any],
    words: list[tuple[dict[str, Any], dict[str, Any]]],
    shaped: dict[str, set[str]],
) -> None:
    """The word that let it out is by somebody who had no hand in any of its claims."""
    if not judged["audit_trail"]["human_approvals"]:
        return
    last = [entry for entry, _ in words if entry["payload"]["content_hash"] == content_of(judged)][-1]
    hands = set().union(*(shaped[said(claim)] for claim in judged["claims"]))
    assert person(last["actor"]) not in hands, "published by somebody who shaped it"


def was_allowed_out(
    judged: dict[str, Any], words: list[tuple[dict[str, Any], dict[str, Any]]], proposers: set[str]
) -> None:
    trail = judged["audit_trail"]
    overridden = {one["gate"]: one["by"] for one in trail.get("gates_overridden", ())}
    assert trail["gates_passed"] == [gate for gate in GATE_NAMES if gate not in overridden]
    # Nobody but who said yes has let a gate be overridden, and nobody can let the human gate be.
    agreed_to = {word["approver"] for word in trail["human_approvals"] if word["decision"] == "APPROVED"}
    assert all(by and set(by) <= agreed_to for by in overridden.values())
    assert "human" not in overridden
    assert judged["audit_trail"]["gates_failed"] == []
    if not {"DELETE", "PRIVILEGE"} & {one["risk_tier"] for one in judged["claims"]}:
        return
    content = content_of(judged)
    valid = [
        (entry["actor"]["id"], item)
        for entry, item in words
        if entry["payload"]["content_hash"] == content
        and item["content_hash"] == content
        and entry["actor"]["role"] in ("approver", "admin")
        and entry["actor"]["id"] not in proposers
        and datetime.fromisoformat(entry["ts"]) < datetime.fromisoformat(item["expires_at"])
    ]
    assert valid, "published without a person's word on exactly this"
    last = valid[-1][1]
    agreed = {who for who, item in valid if item["approval_id"] == last["approval_id"]}
    assert len(agreed) >= last["rule"]["required"]
    told = [word["approver"] for word in judged["audit_trail"]["human_approvals"]]
    assert agreed <= set(told)


def content_of(judged: dict[str, Any]) -> str:
    named = {name: judged[name] for name in ("claims", "id", "origin_agent", "timestamp")}
    return hashlib.sha256(canonical(named)).hexdigest()
