"""What `beliefd policy explain` asks: of files alone, or of a server that has the session."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from beliefd.cli.target import Target
from beliefd.kernel.errors import invalid
from beliefd.kernel.values import Role

if TYPE_CHECKING:
    from beliefd.kernel.policy import Policy
    from beliefd.protocol.explaining import PolicyExplanation


def explain(target: Target, role: str, **given: Any) -> "PolicyExplanation":
    """INVARIANT: with a policy and no session nobody is asked, and nothing is needed but the files."""
    policy, against = _policy(given.pop("policy_file")), _policy(given.pop("against_file"))
    session_id, event_id = given.pop("session_id"), given.pop("event_id")
    at, candidate = given.pop("at"), given.pop("candidate")
    asked_about = (given["call_file"], given["delta_file"], event_id)
    if sum(one is not None for one in asked_about) != 1:
        raise invalid("give one of --call, --delta and --event", "--call")
    if event_id is not None and session_id is None:
        raise invalid("--event needs the --session that it is an event of", "--event")
    if policy is not None and session_id is None:
        from beliefd.policy.trial import Files, explain_files
        from beliefd.steward.environment import now

        files = Files(role=Role(role), **{name: one for name, one in given.items() if one is not None})
        return explain_files(policy, files, now(), against)
    if given["capability_file"] is not None:
        raise invalid("--capability goes with files alone: with --policy, without --session", "--capability")
    call = _document(given["call_file"])
    who = {"tier": given["agent_tier"], "agent_id": given["agent_id"], "mode": given["mode"]}
    if isinstance(call, dict):
        # A session has its own mode: that one is given is for the server to refuse.
        beside = {} if session_id is None else {"mode": who.pop("mode")}
        call, who = {**{name: one for name, one in who.items() if one is not None}, **call}, beside
    asked = {
        "session_id": session_id,
        "event_id": event_id,
        "candidate": candidate,
        "at": at,
        "policy": policy,
        "against": against,
        "role": role,
        **who,
        "call": call,
        "delta": _document(given["delta_file"]),
        "state": _document(given["state_file"]),
    }
    told = {name: value for name, value in asked.items() if value is not None}
    return target.ask(lambda calls: calls.explain_policy(**told))


def _policy(path: Path | None) -> "Policy | None":
    from beliefd.policy.files import load_policy

    return None if path is None else load_policy(path)


def _document(path: Path | None) -> Any:
    from beliefd.documents import read_document

    return None if path is None else read_document(path)
