"""What the kernel knows of tools: what they take, what they touch, how dangerous they are."""

from typing import Annotated, Any, Literal

import msgspec

from beliefd.kernel.adopted import InForce
from beliefd.kernel.approvals.findings import Authority, ByRights, ByWords
from beliefd.kernel.origin import CallFacts, ValueFact
from beliefd.kernel.substrate.shell import ShellFacts
from beliefd.kernel.values import Id, Principal, Tier, TierName, Value

Amount = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Executor = Literal["caller"]
"""Who runs a tool that the server does not run."""
Qos = Literal["interactive", "background", "maintenance"]
"""Classes in which calls wait for their turn, from first to last."""


class Uses(Value, frozen=True):
    """The most that one call uses, as its tool declares it; None is what it does not say."""

    tokens: Amount | None = None
    cpu_ms: Amount | None = None
    disk_bytes: Amount | None = None


class ToolDefinition(Value, frozen=True):
    """A tool as declared. The `*_args` name the arguments that hold paths and addresses.

    `uses` is what is reserved for a call before it begins. Calls of a `concurrent` tool that changes nothing
    may run beside others of their proposal. A tool whose `executor` is its `caller` is run by whoever is let
    through with it, somewhere else, and the outcome is reported here. `shell_args` are arguments that a shell
    reads as commands there, `workspace_args` files that it writes there, `patch_args` patches that name such
    files. `network: false` says that no call of it ever reaches the network; one that does not say so is off
    where a mode has switched that off.
    """

    schema: dict[str, Any] = {}
    description: Annotated[str, msgspec.Meta(max_length=2_000)] = ""
    capabilities: tuple[Id, ...] = ()
    tier: TierName = "READ_ONLY"
    mutates: bool = False
    fs_read_args: tuple[Id, ...] = ()
    fs_write_args: tuple[Id, ...] = ()
    net_args: tuple[Id, ...] = ()
    timeout_ms: Annotated[int, msgspec.Meta(ge=1, le=3_600_000)] = 30_000
    # Not in the hash while they are not given: tools that were registered before keep theirs.
    uses: Uses | msgspec.UnsetType = msgspec.UNSET
    concurrent: bool | msgspec.UnsetType = msgspec.UNSET
    executor: Executor | msgspec.UnsetType = msgspec.UNSET
    shell_args: tuple[Id, ...] | msgspec.UnsetType = msgspec.UNSET
    workspace_args: tuple[Id, ...] | msgspec.UnsetType = msgspec.UNSET
    patch_args: tuple[Id, ...] | msgspec.UnsetType = msgspec.UNSET
    network: bool | msgspec.UnsetType = msgspec.UNSET

    @property
    def is_run_by_caller(self) -> bool:
        return self.executor is not msgspec.UNSET


def tightened(own: ToolDefinition, named: ToolDefinition) -> ToolDefinition:
    """A policy may raise what a tool says of itself, never lower it."""
    return msgspec.structs.replace(
        own,
        capabilities=tuple(dict.fromkeys((*own.capabilities, *named.capabilities))),
        tier=max(own.tier, named.tier, key=lambda name: Tier[name]),
        mutates=own.mutates or named.mutates,
        fs_read_args=tuple(dict.fromkeys((*own.fs_read_args, *named.fs_read_args))),
        fs_write_args=tuple(dict.fromkeys((*own.fs_write_args, *named.fs_write_args))),
        net_args=tuple(dict.fromkeys((*own.net_args, *named.net_args))),
        uses=_most(own.uses, named.uses),
        network=reaches(own.network, named.network),
    )


def reaches(own: bool | msgspec.UnsetType, said: bool | msgspec.UnsetType) -> bool | msgspec.UnsetType:
    """Whether a tool reaches the network, as two say: one who says that it does is believed."""
    return own if said is msgspec.UNSET or own is True else said


def could_reach(definition: ToolDefinition, hosts: tuple[str, ...]) -> bool:
    """INVARIANT: a call may reach it unless its tool says that none ever does, and it names no host."""
    return definition.network is not False or bool(hosts)


def _most(own: Uses | msgspec.UnsetType, named: Uses | msgspec.UnsetType) -> Uses | msgspec.UnsetType:
    """By dimension, the larger of what is said of it."""
    if own is msgspec.UNSET or named is msgspec.UNSET:
        return own or named
    said = {name: (getattr(own, name), getattr(named, name)) for name in Uses.__struct_fields__}
    return Uses(
        **{name: max((one for one in both if one is not None), default=None) for name, both in said.items()}
    )


class FileUse(Value, frozen=True):
    """A path that a call names, with links and dots resolved by who looked."""

    path: str
    writes: bool


class ContextBasis(Value, frozen=True):
    """How much of what the session was told facts rest on; what is `lost` was erased or cannot be read."""

    told: int
    lost: int = 0


class CallFinding(Value, frozen=True):
    """What was found out about one candidate call: its tool, its arguments, and the token it came with.

    `tier` is the tool's, as registered. Entries without it are older than the rules about the tiers of tools,
    and are judged without them. Where `begins` is set, the call is judged again when it begins; entries
    without it are older than that. `givers` is how those stand now through whom the capability came, as far
    as they have tokens; entries without it are older than the rule that a capability ends with them.
    `origin` is where the values of the call came from, and `context` what that rests on: they are found out
    where policy has `context`. `shell` is what its commands may do, or which files of the project it writes.
    `network` is whether it may reach the network, as far as anybody says. `words` are those of a shell
    command that stand in what was read: they are for people, and no rule reads them.
    """

    definition: ToolDefinition | None = None
    definition_hash: str = ""
    argument_errors: tuple[str, ...] = ()
    files: tuple[FileUse, ...] = ()
    hosts: tuple[str, ...] = ()
    capability_id: str | None = None
    token_problem: str | None = None
    tier: TierName | msgspec.UnsetType = msgspec.UNSET
    begins: bool | msgspec.UnsetType = msgspec.UNSET
    givers: Authority | msgspec.UnsetType = msgspec.UNSET
    origin: CallFacts | msgspec.UnsetType = msgspec.UNSET
    context: ContextBasis | msgspec.UnsetType = msgspec.UNSET
    shell: ShellFacts | msgspec.UnsetType = msgspec.UNSET
    network: bool | msgspec.UnsetType = msgspec.UNSET
    words: tuple[ValueFact, ...] | msgspec.UnsetType = msgspec.UNSET

    @property
    def call_facts(self) -> dict[str, Any]:
        """What constraints read at `fact.call`; nothing, where nothing was found out."""
        if self.origin is msgspec.UNSET:
            return {}
        found: dict[str, Any] = msgspec.to_builtins(self.origin)
        more = {"context": self.context, "shell": self.shell}
        return found | {
            name: msgspec.to_builtins(one) for name, one in more.items() if one is not msgspec.UNSET
        }


class ProposalFindings(Value, frozen=True, tag_field="of", tag="proposal"):
    """Facts about a proposal's candidates, in their order; None where a candidate is no call.

    `authority` is how those stand now whose word or tier is used, as for claims. Where `no_stands` is set, a
    call that a person has rejected is not asked about again; where `asks_anew` is, one that waits is, if the
    rule has changed that asks; and where `one_permit` is, one of its calls begins, and those after it wait to
    be begun; entries without them are older. Where `relapses`
    is set, a mode that had recovered and is lowered to where it was begins to recover anew; likewise.
    With `by_words`, it is remembered who proposed what was not let through.
    `inputs` are those of its provenance that are events of the ledger or stored content. `in_force` is who
    adopted the policy, here and below.
    """

    calls: tuple[CallFinding | None, ...] = ()
    authority: Authority | msgspec.UnsetType = msgspec.UNSET
    by_rights: ByRights = msgspec.UNSET
    by_words: ByWords = msgspec.UNSET
    no_stands: bool | msgspec.UnsetType = msgspec.UNSET
    asks_anew: bool | msgspec.UnsetType = msgspec.UNSET
    one_permit: bool | msgspec.UnsetType = msgspec.UNSET
    in_force: InForce = msgspec.UNSET
    inputs: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    relapses: bool | msgspec.UnsetType = msgspec.UNSET


class StartFindings(Value, frozen=True, tag_field="of", tag="start"):
    """What was found out about a call right before it begins.

    `caller` is what the principal who proposed it may by now, and None if it may not propose here any more.
    Nothing is said of one that never had a token here. Where `takes_rest` is set, a call gets all that is
    left of what its tool does not declare, whatever earlier calls used; entries without it are older.
    `relapses` is as for proposals.
    """

    call: CallFinding
    caller: Principal | msgspec.UnsetType | None = msgspec.UNSET
    takes_rest: bool | msgspec.UnsetType = msgspec.UNSET
    in_force: InForce = msgspec.UNSET
    relapses: bool | msgspec.UnsetType = msgspec.UNSET


class Witness(Value, frozen=True):
    """What an event bears witness to. `about` names the claim, the approval or the tool.

    `content` is a digest of what was seen: the same seen again, in another event, is nothing new.
    """

    kind: Literal["run", "person", "call"]
    about: str
    content: str


class MemoryFindings(Value, frozen=True, tag_field="of", tag="memory"):
    """What the event that is said to confirm an entry bears witness to; None if to nothing.

    `elsewhere` if it was written before the session came here: then it bears witness to nothing. `inputs` is
    as for proposals.
    """

    witness: Witness | None = None
    elsewhere: bool | msgspec.UnsetType = msgspec.UNSET
    inputs: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
