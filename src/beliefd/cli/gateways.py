"""Running what speaks the Model Context Protocol, for `beliefd mcp` and `beliefd guard`."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from beliefd.cli.output import Exit, Reply, fail
from beliefd.cli.server import bind, loop_factory, tune_interpreter, url_of
from beliefd.cli.target import DEFAULT_DATA, Target, prepare_data, store_name
from beliefd.extras import install
from beliefd.kernel.values import Principal, Role, Tier

if TYPE_CHECKING:
    from beliefd.client.asynchronous import AsyncCalls
    from beliefd.embedded import AsyncEmbedded
    from beliefd.kernel.policy import Policy
    from beliefd.mcp.config import GatewayConfig
    from beliefd.mcp.running import Listening

HOST = "127.0.0.1"
GUARD_RULES = "guard.yaml"


def need_mcp() -> None:
    """Say what is missing before anything is started."""
    try:
        import mcp  # noqa: F401 - only to see whether it is there
    except ModuleNotFoundError:
        fail(f"this needs the extra `mcp`: {install('mcp')}", Exit.BAD_INPUT)


def config_of(
    command: tuple[str, ...] = (),
    config_file: Path | None = None,
    name: str | None = None,
    hold: float | None = None,
    environment: tuple[str, ...] = (),
    **opened: bool,
) -> "GatewayConfig":
    """What the command line says, over what the file says."""
    from msgspec.structs import replace

    from beliefd.mcp.config import of_command, read_config

    if (config_file is None) == (not command):
        raise click.UsageError("give `--config FILE` or the command of one upstream after `--`, and not both")
    if config_file is not None:
        config = read_config(config_file)
        if environment:
            raise click.UsageError("with `--config`, variables are named in the file")
    else:
        config = of_command(command, name, environment)
    changes: dict[str, Any] = {key: True for key, value in opened.items() if value}
    if hold is not None:
        changes["hold_seconds"] = hold
    if name is not None:
        changes["name"] = name
    return replace(config, **changes)


def gateway_principal(name: str) -> Principal:
    """Who a gateway is in a store that it opens itself; a server says so by its token."""
    return Principal(id=f"gateway://{name}", role=Role.TOOL, tier=Tier.PRIVILEGE.name)


def decide_at(target: Target) -> str:
    """How a person sees and decides what waits; `{}` stands for its name."""
    place = f"--url {target.url}"
    if target.is_embedded:
        place = f"--store {target.store}" if target.store else f"--data {target.data}"
    return f"beliefd inbox approve {{}} {place}"


@contextlib.asynccontextmanager
async def opened(
    target: Target, principal: Principal, policy: "Policy | None" = None
) -> AsyncIterator["AsyncCalls"]:
    """The server, or the store in this process, with its clock: what waits too long must end there too."""
    if not target.is_embedded:
        from beliefd.client.warm import WarmClient

        async with WarmClient(target.url, target.token) as client:
            yield client
        return
    from beliefd.embedded import open_async

    data = target.data or Path(DEFAULT_DATA)
    if target.store is None:
        prepare_data(data)
    name = store_name(data, target.store)
    async with await open_async(name, principal=principal) as embedded:
        if policy is not None:
            await _adopt(embedded, policy)
        expiry = asyncio.create_task(embedded.runtime.expiry.run())
        try:
            yield embedded
        finally:
            expiry.cancel()
            await asyncio.wait({expiry})


async def _adopt(embedded: "AsyncEmbedded", policy: "Policy") -> None:
    """Bring a policy into force for all who open the store: who approves must judge by the same rules."""
    from beliefd.client.operations import Operations
    from beliefd.embedded import send
    from beliefd.ledger.chain import policy_hash
    from beliefd.steward.directory import LOCAL_OPERATOR

    if (await embedded.show_policy()).policy_hash != policy_hash(policy):
        await send(embedded.runtime, LOCAL_OPERATOR, Operations.adopt_policy(policy))


def listening(port: int | None, tokens: tuple[str, ...]) -> "Listening | None":
    """INVARIANT: over HTTP, on loopback only and never without a token."""
    if port is None:
        return None
    from beliefd.mcp.posts import PATH
    from beliefd.mcp.running import Listening
    from beliefd.mcp.transports import new_token

    listener = bind(HOST, port)
    chosen = tokens or (new_token(),)

    def started() -> None:
        click.echo(f"beliefd is listening on {url_of(listener, HOST)}{PATH}", err=True)
        if not tokens:
            click.echo(f"clients send `Authorization: Bearer {chosen[0]}`", err=True)

    return Listening(listener, chosen, started)


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await work()

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main())


def serve_guard(
    data: Path,
    policy_file: Path | None,
    port: int | None,
    http_token: tuple[str, ...],
    **given: Any,
) -> None:
    """A gateway with a store of its own, whose rules are a file beside it that its owner edits."""
    from beliefd.policy.files import load_policy
    from beliefd.policy.presets import preset_text

    config = config_of(**given)
    prepare_data(data)
    rules = policy_file or data / GUARD_RULES
    if not rules.exists() and policy_file is None:
        rules.write_bytes(preset_text("guard"))
    target = Target(url="", token=None, data=data, store=None, as_json=False)
    click.echo(f"beliefd guards `{config.name}`; its rules are {rules}", err=True)
    click.echo(f"what waits: beliefd inbox list --data {data}", err=True)
    serve_gateway(target, config, port, http_token, load_policy(rules))


def serve_gateway(
    target: Target,
    config: "GatewayConfig",
    port: int | None,
    tokens: tuple[str, ...],
    policy: "Policy | None" = None,
) -> None:
    need_mcp()
    from beliefd.mcp.gateway import Gateway
    from beliefd.mcp.running import run_gateway
    from beliefd.mcp.served import ServedJudge
    from beliefd.mcp.upstream import Gone

    where = listening(port, tokens)

    async def work() -> None:
        async with opened(target, gateway_principal(config.name), policy) as calls:
            link_to = None if target.is_embedded else target.url
            judge = ServedJudge(calls, decide_at(target), link_to)
            tune_interpreter()
            await run_gateway(Gateway(config, judge), where)

    try:
        run(work)
    except Gone as error:  # before it served anybody: afterwards, callers are told
        raise click.ClickException(str(error)) from None


def serve_verbs(
    target: Target, port: int | None, tokens: tuple[str, ...], only: frozenset[str], **how: bool
) -> None:
    need_mcp()
    from beliefd.mcp.own import own_server
    from beliefd.mcp.running import run_server
    from beliefd.protocol.operations import VOCABULARIES
    from beliefd.steward.directory import LOCAL_AGENT

    known = {one.tag() for one in VOCABULARIES}
    if unknown := sorted(only - known):
        raise click.UsageError(f"there is no vocabulary `{unknown[0]}`; there are {', '.join(sorted(known))}")
    where = listening(port, tokens)

    async def work() -> None:
        async with opened(target, LOCAL_AGENT) as calls:
            await run_server(own_server(calls, only, **how), where)

    run(work)


def write_policy(config: "GatewayConfig", out: Path | None) -> Reply:
    need_mcp()
    from beliefd.mcp.starting_policy import starting_policy, upstream_tools

    if out is not None and out.exists():
        fail(f"`{out}` is there already; it is not written over", Exit.BAD_INPUT)
    found: list[str] = []

    async def work() -> None:
        found.append(starting_policy(await upstream_tools(config)))

    run(work)
    answer = {"policy": found[0], "output": None if out is None else str(out)}
    if out is None:
        return Reply(answer, found[0])
    out.write_text(found[0])
    return Reply(answer, f"wrote {out}; `beliefd policy check {out}` reads it")
