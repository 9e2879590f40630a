"""What calls would do to files, by reading their commands and paths in the folder they run in."""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate
from beliefd.kernel.substrate.provenance import Provenance, Workspace
from beliefd.kernel.substrate.shell import ShellFacts
from beliefd.kernel.substrate.tools import CallFinding, ProposalFindings, ToolDefinition
from beliefd.kernel.values import Principal, Role


def with_shell(
    found: ProposalFindings,
    candidates: Sequence[Candidate],
    provenance: Provenance | UnsetType,
    who: Principal,
    policy: Policy,
    kept: tuple[str, ...],
) -> ProposalFindings:
    """The findings of a proposal's calls, with what their commands may do."""
    if policy.context is UNSET:
        return found
    workspace = _trusted(provenance, who, policy)
    calls = [
        shell_finding(finding, candidate.args, workspace, kept)
        if isinstance(candidate, CallCandidate) and finding is not None
        else finding
        for candidate, finding in zip(candidates, found.calls, strict=True)
    ]
    return replace(found, calls=tuple(calls))


def started_shell(
    finding: CallFinding,
    args: dict[str, Any],
    provenance: Provenance | UnsetType,
    who: Principal,
    policy: Policy,
    kept: tuple[str, ...],
) -> CallFinding:
    """The finding of a call that is about to begin, likewise."""
    if policy.context is UNSET:
        return finding
    return shell_finding(finding, args, _trusted(provenance, who, policy), kept)


def shell_finding(
    finding: CallFinding, args: dict[str, Any], workspace: Workspace | None, kept: tuple[str, ...]
) -> CallFinding:
    definition = finding.definition
    if definition is None:
        return finding
    told = shell_facts(definition, args, workspace, kept)
    return finding if told is None else replace(finding, shell=told)


def _trusted(provenance: Provenance | UnsetType, who: Principal, policy: Policy) -> Workspace | None:
    """INVARIANT: an agent does not say itself what its project is; whoever may tell context does."""
    if provenance is UNSET or provenance.workspace is UNSET or policy.context is UNSET:
        return None
    return provenance.workspace if policy.context.may_tell(who) else None


def shell_facts(
    definition: ToolDefinition, args: dict[str, Any], workspace: Workspace | None, kept: tuple[str, ...] = ()
) -> ShellFacts | None:
    # What is known of commands takes a while to read, and only servers in front of clients need it.
    from beliefd.hooks.shell import examine, examine_patch, examine_paths, paths_in

    cwd, roots = (None, ()) if workspace is None else (workspace.cwd, workspace.roots)
    if definition.shell_args is not UNSET:
        command, others = _the_one(args, definition.shell_args)
        return examine(command, cwd, roots, others, kept)
    if definition.patch_args is not UNSET:
        patch, others = _the_one(args, definition.patch_args)
        return examine_patch(patch, cwd, roots, others, kept) if workspace is not None else None
    named = definition.workspace_args or ()
    paths = [path for name in named if name in args for path in _paths_of(args[name], paths_in)]
    # A tool of that name that takes other arguments, or runs elsewhere, is another tool.
    if workspace is None or not paths:
        return None
    # Which of several paths a client obeys is not known: all of them count.
    paths += paths_in({name: value for name, value in args.items() if name not in named})
    return examine_paths(
        [one if isinstance(one, str) and "://" not in one else "\0" for one in paths], cwd, roots, kept
    )


def _the_one(args: dict[str, Any], names: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """The text that is under one of these names, and the other arguments.

    A list of words, or anything else that is no text, is not read: somebody is asked.
    """
    given = [args[name] for name in names if name in args]
    others = {name: value for name, value in args.items() if name not in names}
    return given[0] if len(given) == 1 and isinstance(given[0], str) else "\0", others


def _paths_of(value: Any, paths_in: Callable[[Any], Iterable[Any]]) -> list[Any]:
    """A path, or those of a list of changes, each of which names its own."""
    if not isinstance(value, list):
        return [value]
    return [path for change in value for path in (list(paths_in(change)) or [None])] or [None]


def kept_places(files: Iterable[Path]) -> tuple[str, ...]:
    """What no agent may change unasked, also inside its project: these files, and what beliefd runs from.

    INVARIANT: whoever is judged does not write the rules, the ledger, or the program that judges.
    """
    own = (Path(sys.prefix), Path(__file__).parents[2])
    return tuple(
        dict.fromkeys(str(one) for file in (*files, *own) for one in (file.absolute(), file.resolve()))
    )


def unknown_principal(name: str) -> Principal:
    """Whoever never had a token: what is said of a whole kind of programs is not said of them."""
    return Principal(id=name, role=Role.AGENT)
