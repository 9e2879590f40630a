"""Vectors through the command line: each step as the words a person would type."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from beliefd.conformance.stories import Step, answered
from tests.cli.runner import beliefd
from tests.conformance.surfaces import Server

Words = tuple[list[str], list[str]]
"""Options, and what stands on its own after them."""


class CommandLine:
    """`beliefd ... --json --url`, in this process."""

    def __init__(self, server: Server, directory: Path) -> None:
        self._server = server
        self._ledger = directory / "ledger.jsonl"

    def call(self, step: Step) -> tuple[int | None, Any]:
        args = dict(step.args)
        if "ledger" in args:
            self._ledger.write_bytes(args.pop("ledger").encode())
            args["file"] = str(self._ledger)
        options, words = SAYINGS[step.op](args)
        if step.if_match is not None:
            options += ["--if-match", step.if_match]
        if step.key is not None:
            options += ["--key", step.key]
        if step.notes is not None:
            options += ["--notes", step.notes]
        options += ["--json", "--url", self._server.url, "--token", self._server.token(step)]
        # After `--` nothing is an option: ids may begin with a dash.
        result = beliefd(*COMMANDS[step.op].split(), *options, "--", *words)
        return None, answered(step.op, result.stdout_bytes)


def _declare(args: dict[str, Any]) -> Words:
    ontology = args["ontology"]
    options = ["--space", ontology["hypothesis_space_id"], "--space-version", ontology["hypothesis_version"]]
    options += ["--graph", ontology["causal_graph_ref"], "--graph-version", ontology["causal_graph_version"]]
    options += ["--metadata", json.dumps(args.get("metadata", {}))]
    if args.get("options", {}).get("unknown_hypotheses") == "ignore":
        options.append("--ignore-unknown")
    return options, args["hypotheses"]


def _eliminate(args: dict[str, Any]) -> Words:
    options = ["--source", args["source_id"], "--observation", args["observation_id"]]
    options += ["--justification", json.dumps(args["justification"])]
    for cited in args.get("cites", ()):
        options += [word for kind, name in cited.items() for word in ("--cites", f"{kind}={name}")]
    return options, [args["session_id"], *args["eliminated"]]


def _counterfactual(args: dict[str, Any]) -> Words:
    without = args["without"]
    options = [word for source in without.get("source_ids", ()) for word in ("--without", source)]
    options += [word for who in without.get("principals", ()) for word in ("--without-principal", who)]
    return options + ["--without-attested"] * without.get("attested", False), [args["session_id"]]


def _with_context(*names: str) -> Callable[[dict[str, Any]], Words]:
    return lambda args: (["--context", json.dumps(args.get("context", {}))], [args[name] for name in names])


def _plain(*names: str, **options: str) -> Callable[[dict[str, Any]], Words]:
    def say(args: dict[str, Any]) -> Words:
        given = [[flag, str(args[name])] for name, flag in options.items() if name in args]
        return [word for pair in given for word in pair], [str(args[name]) for name in names]

    return say


SAYINGS: dict[str, Callable[[dict[str, Any]], Words]] = {
    "declare_session": _declare,
    "eliminate": _eliminate,
    "enter_obligation": _plain("session_id", "obligation_id", "min_total_eliminations"),
    "request_exit": _with_context("session_id", "obligation_id"),
    "declare_conclusion": _with_context("session_id", "conclusion_id"),
    "request_termination": _with_context("session_id"),
    "query_belief": _plain("session_id", at="--at", survivors_limit="--limit", survivors_after="--after"),
    "list_sessions": _plain(limit="--limit", cursor="--cursor"),
    "audit_trace": _plain("session_id", since_event_id="--since"),
    "verify": _plain("session_id"),
    "export": _plain("session_id"),
    "import_ledger": _plain("file"),
    "merge": _plain("session_id", "file"),
    "why": _plain("session_id", "hypothesis", source_id="--source", principal="--principal"),
    "counterfactual": _counterfactual,
}
COMMANDS = {
    "declare_session": "session declare",
    "eliminate": "session eliminate",
    "enter_obligation": "session obligation",
    "request_exit": "session exit",
    "declare_conclusion": "session conclude",
    "request_termination": "session terminate",
    "query_belief": "session show",
    "list_sessions": "session list",
    "audit_trace": "audit show",
    "verify": "audit verify",
    "export": "audit export",
    "import_ledger": "audit import",
    "merge": "audit merge",
    "why": "session why",
    "counterfactual": "session counterfactual",
}

BEYOND_WORDS = {
    "audit-pages": "it shows whole ledgers",
    "batch": "it sends one verb at a time",
    "declare-refused": "it builds the body itself",
    "eliminate-nothing": "it asks for at least one hypothesis",
    "eliminate-refused": "it builds the body itself",
    "obligations-unreadable": "it reads the number itself",
    "query-parameters-refused": "it reads the numbers itself",
}
"""Vectors that the command line has no words for, and why."""
