"""An auditor who reads nothing but a ledger's JSON, and believes no event that is not justified by what it
found before it. Constraints are judged by the naive reading; all else is told here once more, in plain words.
"""

import json
from typing import Any

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import (
    INVARIANTS,
    Action,
    Constraint,
    Judgement,
    failing,
    judge,
    read_constraint,
)
from beliefd.kernel.substrate.rulebook import KnownSchemas

WRITERS = {"goal": {"agent"}, "fact": {"encoder", "tool"}}
PEOPLE = {"approver", "admin"}


class Auditor:
    """Walks a ledger from its first event; whatever does not follow fails an assertion."""

    def __init__(self, policies: dict[str, Policy]) -> None:
        self.policies = policies
        self.state: dict[str, Any] = {}
        self.snapshot = "genesis"
        self.approvals: dict[str, dict[str, Any]] = {}
        self.calls: dict[str, dict[str, Any]] = {}
        self.keys: dict[tuple[str, str], str] = {}
        self.capabilities: dict[str, dict[str, Any]] = {}
        self.changed = False

    def walk(self, records: list[bytes]) -> "Auditor":
        for record in records:
            self.read(json.loads(record))
        return self

    def read(self, entry: dict[str, Any]) -> None:
        self.changed = False
        event = entry["delta"]
        reader = getattr(self, f"_{event['kind']}", None)
        if reader is not None:
            reader(entry, event)
        if self.changed:
            self.snapshot = entry["event_id"]

    # -- what happened ----------------------------------------------------------------------------------

    def _arbitrated(self, entry: dict[str, Any], event: dict[str, Any]) -> None:
        candidates = entry["payload"]["candidates"]
        assert len(candidates) == len(event["results"])
        for candidate, result in zip(candidates, event["results"], strict=True):
            self._result(entry, entry["actor"], candidate, result, None)

    def _approval_decided(self, entry: dict[str, Any], event: dict[str, Any]) -> None:
        approval = self.approvals[event["approval_id"]]
        assert approval["open"], "decided once"
        assert entry["payload"]["content_hash"] == approval["content_hash"], "for exactly what was shown"
        assert entry["actor"]["role"] in PEOPLE
        assert entry["actor"]["id"] not in approval["proposers"]
        assert entry["ts"] < approval["expires_at"]
        approval["open"] = False
        if event["result"] is None:
            assert event["decision"] == "REJECTED"
            return
        assert event["decision"] == "APPROVED"
        self._result(
            entry, approval["proposer"], approval["candidate"], event["result"], approval["subject"]["asked"]
        )

    def _approval_closed(self, entry: dict[str, Any], event: dict[str, Any]) -> None:
        assert self.approvals[event["approval_id"]]["open"]
        self.approvals[event["approval_id"]]["open"] = False

    def _outcome_recorded(self, entry: dict[str, Any], event: dict[str, Any]) -> None:
        call = self.calls[event["call"]["call_id"]]
        assert call["status"] in ("running", "unknown")
        call["status"] = event["call"]["status"]

    def _call_started(self, entry: dict[str, Any], event: dict[str, Any]) -> None:
        call = self.calls[event["call"]["call_id"]]
        assert call["status"] == "scheduled", "it begins once"
        assert entry["ts"] < call["deadline"]
        for capability in self._lineage(call["capability_id"]):
            assert capability["revoked_at"] is None
            assert entry["ts"] < capability["expires_at"]
        basis = call["basis"]
        self._passes(entry, self._action(basis["proposer"], call, basis["consent"]), basis["consent"])
        call["status"] = "running"

    def _call_stopped(self, entry: dict[str, Any], event: dict[str, Any]) -> None:
        call = self.calls[event["call"]["call_id"]]
        assert call["status"] == "scheduled", "what has begun is not stopped"
        assert event["result"]["verdict"] != "allow"
        assert event["result"]["reasons"]
        call["status"] = "stopped"
        self.keys.pop((call["tool_id"], call["idempotency_key"]), None)
        for capability in self._lineage(call["capability_id"]):
            capability["calls"] -= 1

    def _lineage(self, capability_id: str | None) -> list[dict[str, Any]]:
        found = []
        while capability_id is not None:
            found.append(self.capabilities[capability_id])
            capability_id = found[-1]["parent"]
        return found

    def _capability_issued(self, entry: dict[str, Any], event: dict[str, Any]) -> None:
        given = event["capability"]
        if given["parent"] is None:
            assert entry["actor"]["role"] == "admin"
        else:
            assert self.capabilities[given["parent"]]["agent_id"] == entry["actor"]["id"]
        self.capabilities[given["capability_id"]] = {**given, "calls": 0}

    def _capability_revoked(self, entry: dict[str, Any], event: dict[str, Any]) -> None:
        self.capabilities[event["capability"]["capability_id"]]["revoked_at"] = entry["ts"]

    # -- whether it may have ----------------------------------------------------------------------------

    def _result(
        self,
        entry: dict[str, Any],
        actor: dict[str, Any],
        candidate: dict[str, Any],
        result: dict[str, Any],
        asked: dict[str, str] | None,
    ) -> None:
        if result["verdict"] != "allow":
            assert result["patch"] is None
            assert result["call"] is None
            assert result["repeats"] is None
            assert result["reasons"]
            assert result["on_fail"] is not None
            assert (result["approval"] is not None) == (result["on_fail"] == "ask")
            if result["approval"] is not None:
                opened = result["approval"]
                self.approvals[opened["approval_id"]] = {**opened, "open": True, "candidate": candidate}
            return
        assert result["reasons"] == []
        assert result["approval"] is None
        if candidate["kind"] == "delta":
            self._write(entry, actor, candidate["patch"], result, asked)
        elif result["repeats"] is not None:
            first = self.calls[result["repeats"]]
            assert (first["tool_id"], first["args"]) == (candidate["tool_id"], candidate["args"])
            assert first["agent_id"] == actor["id"]
        else:
            self._call(entry, actor, candidate, result["call"], asked)

    def _write(
        self,
        entry: dict[str, Any],
        actor: dict[str, Any],
        patch: dict[str, Any],
        result: dict[str, Any],
        asked: dict[str, str] | None,
    ) -> None:
        assert result["patch"] == patch
        touched = {*patch["set"], *patch["remove"]}
        assert all(actor["role"] in WRITERS[key.partition(".")[0]] for key in touched)
        needs = tuple(sorted({f"write:{key.partition('.')[0]}" for key in touched}))
        self._passes(entry, Action(None, needs, None, context_of(actor, asked)), asked)
        left = {key: value for key, value in self.state.items() if key not in patch["remove"]}
        self.state = {**left, **patch["set"]}
        self.changed = True
        for one in self._constraints(entry):
            if one.key.startswith(INVARIANTS) and not (asked and one.key in asked):
                assert failing(one, self.state, self._fits(entry)) is None, one.key

    def _call(
        self,
        entry: dict[str, Any],
        actor: dict[str, Any],
        candidate: dict[str, Any],
        call: dict[str, Any],
        asked: dict[str, str] | None,
    ) -> None:
        assert (call["tool_id"], call["args"]) == (candidate["tool_id"], candidate["args"])
        assert call["agent_id"] == actor["id"]
        assert call["policy_hash"] == entry["policy_hash"]
        assert call["state_snapshot_id"] == self.snapshot
        assert call["call_id"] not in self.calls
        self._spends(entry, actor, candidate)
        self._passes(entry, self._action(actor, candidate, asked), asked)
        if candidate["idempotency_key"] is not None:
            key = (candidate["tool_id"], candidate["idempotency_key"])
            assert key not in self.keys, "a key runs once"
            self.keys[key] = call["call_id"]
        else:
            assert candidate["tool_id"] != "t.write", "what changes things has a key"
        self.calls[call["call_id"]] = dict(call)

    def _action(self, actor: dict[str, Any], call: dict[str, Any], asked: dict[str, str] | None) -> Action:
        context = {**context_of(actor, asked), "tier": "READ_ONLY", "mutates": call["tool_id"] == "t.write"}
        return Action(call["tool_id"], (), call["args"], context)

    def _spends(self, entry: dict[str, Any], actor: dict[str, Any], candidate: dict[str, Any]) -> None:
        capability = self.capabilities[candidate["capability_id"]]
        assert capability["agent_id"] == actor["id"]
        assert candidate["tool_id"] in capability["scope"]["tools"]
        while capability is not None:
            assert capability["revoked_at"] is None
            assert entry["ts"] < capability["expires_at"]
            limit = capability["scope"]["budgets"]["calls"]
            assert limit is None or capability["calls"] < limit
            capability["calls"] += 1
            capability = self.capabilities.get(capability["parent"])  # type: ignore[assignment]

    def _passes(self, entry: dict[str, Any], action: Action, asked: dict[str, str] | None) -> None:
        """Nothing stands in the way but what a person was asked about, and something allows it."""
        naming = [one for one in self._constraints(entry) if not one.key.startswith(INVARIANTS)]
        found: Judgement = judge(naming, self.state, action, self._fits(entry))
        left = [one for one in found.failures if asked is None or one.constraint.key not in asked]
        assert left == [], [one.constraint.key for one in left]
        assert all(one.constraint.on_fail == "ask" for one in found.failures)
        assert found.allowed or any(one.constraint.effect == "allow" for one in found.failures)

    def _constraints(self, entry: dict[str, Any]) -> list[Constraint]:
        policy = self.policies[entry["policy_hash"]]
        return [read_constraint(key, raw, KnownSchemas(policy)) for key, raw in policy.constraints.items()]

    def _fits(self, entry: dict[str, Any]) -> Any:
        return KnownSchemas(self.policies[entry["policy_hash"]]).fit


def context_of(actor: dict[str, Any], asked: dict[str, str] | None) -> dict[str, Any]:
    return {"agent_id": actor["id"], "role": actor["role"], "confirmed": asked is not None}
