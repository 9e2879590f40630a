"""`beliefd policy`: policy files, tried out before they are in force, and brought into force."""

import json
import sys
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import click
from click import argument, option
from msgspec import UnsetType

from beliefd.cli.options import FILE_PATH, Decorator, json_object
from beliefd.cli.output import DECISION_EXITS, Exit, Reply, passed, replies
from beliefd.cli.progress import waiting
from beliefd.cli.target import Question, Target, asks, target_options
from beliefd.kernel.substrate.guarantees import ABOUT, SAYS, Guarantee, ModeName
from beliefd.kernel.values import Role, TierName
from beliefd.policy.backtesting.names import FORMATS
from beliefd.policy.key_words import KEYS
from beliefd.policy.presets import PRESETS
from beliefd.protocol.proofs import MAX_SECONDS, SECONDS, ProofAnswer

PATH = click.Path(path_type=Path)
CONFLICT: Final = "never_conflict"
FILE = argument("path", metavar="FILE", type=PATH)
POLICY = option("--policy", "policy_file", type=PATH, required=True, help="The policy, YAML or JSON.")
policy = click.Group("policy", help="Check, try out and adopt the rules that decisions are made under.")


@replies(policy, FILE, json_help="Print the whole policy as JSON, defaults filled in.")
def check(path: Path) -> Reply:
    """Say whether FILE can be adopted, and if not, which line is wrong."""
    from beliefd.ledger.chain import policy_hash
    from beliefd.policy.files import load_policy
    from beliefd.protocol.policy import PolicyAnswer

    found = load_policy(path)
    answer = PolicyAnswer(policy_hash=policy_hash(found), policy=found, source="file")
    return Reply(answer, f"ok: policy {answer.policy_hash}")


@asks(policy)
def show() -> Question:
    """Which policy is in force, and where it comes from."""
    return lambda calls: calls.show_policy()


@asks(policy, option("--space", metavar="NAME", help="Only what was decided in this space."))
def review(space: str | None) -> Question:
    """Look the policy in force over: what lint finds, and which rules have ever stood in the way."""
    return lambda calls: calls.review_policy(space=space)


@asks(policy, FILE, create=True)
def adopt(path: Path) -> Question:
    """Decide by FILE from now on, on every server of the store; it holds until another is adopted."""
    from beliefd.policy.files import load_policy

    found = load_policy(path)
    return lambda calls: calls.adopt_policy(found)


@policy.command()
@option("--policy", "policy_file", type=PATH, help="The policy; without it, the one in force.")
@option("--call", "call_file", type=PATH, help='`{"tool_id": ..., "args": {...}}`.')
@option("--delta", "delta_file", type=PATH, help='A change of the state: `{"set": {...}, "remove": [...]}`.')
@option(
    "--state", "state_file", type=PATH, help="F_sparse: an object of keys and values; none, if not given."
)
@option("--session", "session_id", metavar="ID", help="On the state of this session.")
@option("--at", type=click.IntRange(1), help="As it was right after the event with this `seq`.")
@option("--event", "event_id", metavar="ID", help="A decision that is on record, or its `seq`.")
@option("--candidate", type=click.IntRange(0, 99), default=0, help="Which of its candidates, from 0 on.")
@option(
    "--role",
    type=click.Choice([one.value for one in Role]),
    default=Role.AGENT.value,
    help="Who makes the change.",
)
@option(
    "--mode",
    type=click.Choice(get_args(ModeName)),
    help="In which mode, on a state that is given. A call can say so itself.",
)
@option(
    "--agent-tier",
    type=click.Choice(get_args(TierName)),
    help="The tier of who asks. A call can say so itself.  [default: PRIVILEGE]",
)
@option("--agent-id", metavar="ID", help="The id of who asks. A call can say so itself.")
@option("--against", "against_file", type=PATH, help="Another policy, to compare with.")
@option(
    "--capability",
    "capability_file",
    type=PATH,
    help="A capability, as `beliefd capability show --json` prints it.",
)
@target_options
def explain(target: Target, **given: Any) -> None:
    """Say what arbitration would decide about a call or a change, or has decided, and why.

    Names the constraints that decide, what they read and who wrote it, the smallest change that would make it
    pass, and what the policy before would have said. With --policy and without --session no server is
    needed. Nothing is recorded.
    """
    from beliefd.cli.explaining import explain as asked
    from beliefd.cli.output import show

    answer = asked(target, **given)
    show(answer, target.as_json)
    sys.exit(DECISION_EXITS[answer.verdict])


@replies(
    policy,
    argument("path", metavar="CASES", type=PATH),
    POLICY,
    option("--min-coverage", type=click.FloatRange(0, 100), default=0, help="Fail below so many percent."),
    json_help="Print every case as JSON.",
)
def test(path: Path, policy_file: Path, min_coverage: float) -> Reply:
    """Run a file of calls, compare with the verdicts they should get; say what of the policy none tried."""
    from beliefd.cli.views.policy import cases
    from beliefd.policy.coverage import coverage
    from beliefd.policy.files import load_policy
    from beliefd.policy.trial import try_cases
    from beliefd.steward.environment import now

    found = load_policy(policy_file)
    tried = try_cases(found, path, now())
    failed, covered = sum(not case.ok for case in tried), coverage(found, (case.fired for case in tried))
    answer = {"passed": len(tried) - failed, "failed": failed, "cases": tried, "coverage": covered}
    short = covered.percent < min_coverage
    return Reply(
        answer, cases(tried, covered, min_coverage if short else None), passed(not failed and not short)
    )


@replies(policy, FILE, json_help="Print every finding as JSON.")
def lint(path: Path) -> Reply:
    """Name constraints and rules of FILE that never matter, clash, or read what nobody writes."""
    from beliefd.cli.views.policy import linted
    from beliefd.policy.files import load_policy
    from beliefd.policy.lint import lint as looked_at

    found = looked_at(load_policy(path))
    return Reply(found, linted(found), passed(not found.warnings))


@replies(policy, json_help="Print it in one line.")
def schema() -> Reply:
    """Print the JSON Schema of policy files: editors complete and check them with it."""
    from beliefd.policy.schema import policy_schema

    found = policy_schema()
    return Reply(found, json.dumps(found, indent=2, ensure_ascii=False))


@replies(
    policy,
    option("--preset", type=click.Choice(PRESETS), required=True, help="Which policy to begin with."),
    option("-o", "--output", "place", type=PATH, default="policy.yaml", show_default=True, help="Where to."),
)
def init(preset: str, place: Path) -> Reply:
    """Write a policy to begin with, for you to edit. A file that is there stays as it is."""
    from beliefd.cli.files import write_bytes
    from beliefd.kernel.errors import invalid
    from beliefd.policy.presets import preset_text

    if place.exists():
        raise invalid(f"`{place}` is there already; give another place with `-o`", "--output")
    data = preset_text(preset)
    write_bytes(place, data)
    answer = {"preset": preset, "output": str(place), "size": len(data)}
    return Reply(
        answer,
        f"wrote {place}; read it, then `beliefd serve --policy {place}` or `beliefd policy adopt {place}`",
    )


@policy.command()
@argument("path", metavar="[FILE]", required=False, type=FILE_PATH)
@option("--session", "--sessions", "sessions", multiple=True, metavar="ID", help="A session of the store.")
@option("--all", "every", is_flag=True, help="Every session that you may see.")
@option("--policy", "policy_file", type=PATH, help="The policy; for FILE, `guard` if none is given.")
@option("--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True)
@option("--state", "state_file", type=PATH, help="F_sparse for calls of FILE, which carries none.")
@option("--mode", type=click.Choice(get_args(ModeName)), help="In which mode the calls of FILE were made.")
@option("--role", type=click.Choice([one.value for one in Role]), help="Who made the calls of FILE.")
@option("--agent-tier", type=click.Choice(get_args(TierName)), help="The tier of who made them.")
@option("--agent-id", metavar="ID", help="The id of who made them.")
@target_options
def backtest(target: Target, path: Path | None, sessions: tuple[str, ...], every: bool, **given: Any) -> None:
    """Decide again what is recorded, under another policy, and show every decision that would change.

    FILE holds exported ledgers, or recorded runs of other systems: chat runs, transcripts of Claude Code,
    rollouts of Codex, OpenTelemetry traces; plain or gzipped. Runs say what each call would have come to;
    with --json, one line per call. What they do not carry and is not given makes the verdict `undecidable`
    where constraints or rules look at it; what is assumed for tiers, modes and capabilities is told first.
    """
    from beliefd.cli.backtesting import GIVEN, backtest_file, backtest_sessions, refuse_given

    if [path is not None, bool(sessions), every].count(True) != 1:
        raise click.UsageError("give one of FILE, `--session` or `--all`")
    if path is not None:
        sys.exit(backtest_file(path, as_json=target.as_json, **given))
    refuse_given((name for name in GIVEN if given.get(name) is not None), "a session")
    if given["policy_file"] is None:
        raise click.UsageError("`--policy` names the policy that sessions are decided again under")
    sys.exit(backtest_sessions(target, given["policy_file"], None if every else sessions))


def _asked(name: str) -> Decorator:
    """The option for a field of a question."""
    hint = get_type_hints(Guarantee)[name]
    (kind,) = {*(get_args(hint) or (hint,))} - {UnsetType}
    told: dict[str, Any] = {"help": KEYS["Guarantee"][name]}
    if kind is Any:
        return option(f"--{name}", type=json_object, metavar="JSON", **told)
    choices = (
        [one.value for one in kind] if isinstance(kind, type) and issubclass(kind, Role) else get_args(kind)
    )
    return option(f"--{name.replace('_', '-')}", type=click.Choice(choices) if choices else str, **told)


@replies(
    policy,
    POLICY,
    option("--against", type=PATH, help="The policy before: what does the update let through?"),
    *map(_asked, (*ABOUT, "constraint", *(name for name in SAYS if name != CONFLICT))),
    option("--conflict", CONFLICT, nargs=2, metavar="KEY KEY", help=KEYS["Guarantee"][CONFLICT]),
    option(
        "--seconds", type=click.IntRange(1, MAX_SECONDS), default=SECONDS, show_default=True, help="How long."
    ),
    option("--out", type=PATH, help="A folder for what is found: files that `policy explain` reads."),
    json_help="Print every answer as JSON.",
)
def prove(policy_file: Path, against: Path | None, seconds: int, out: Path | None, **asked: Any) -> Reply:
    """Prove something of a policy for all calls, or find a call that shows the opposite.

    Without a question, all that the policy promises under `prove` is asked, and with --against, whether the
    update loosens anything. Needs the extra `prove`, and no server.
    """
    from beliefd.cli.proving import answered, questions_of, written
    from beliefd.cli.views.proofs import proofs
    from beliefd.policy.files import load_policy

    new, old = load_policy(policy_file), None if against is None else load_policy(against)
    questions = questions_of(asked, new, old)
    with waiting(f"proving {len(questions)} questions, {seconds} seconds at most"):
        answer = answered(new, old, questions, seconds)
    script = None if out is None else written(answer, out, policy_file)
    return Reply(answer, proofs(answer, script), _proof_exit(answer))


def _proof_exit(answer: ProofAnswer) -> Exit:
    said = {one.answer for one in answer.proofs}
    if said & {"counterexample", "refuted"}:
        return Exit.REFUSED
    return Exit.DEFERRED if "cannot_say" in said else Exit.ALLOWED


@replies(
    policy,
    FILE,
    option("--to", "form", type=click.Choice(["cedar"]), required=True, help="The language."),
    option("-o", "--output", "place", type=PATH, help="Where to; without it, it is printed."),
)
def export(path: Path, form: str, place: Path | None) -> Reply:
    """Write what FILE permits and forbids in the language of another engine, for a second opinion."""
    from beliefd.cli.files import write_bytes
    from beliefd.policy.files import load_policy
    from beliefd.policy.proving.cedar import exported

    found = exported(load_policy(path))
    answer = {"to": form, "policies": found.text, "left_out": found.left_out}
    complaints = [f"`{key}` is left out: {why}" for key, why in found.left_out.items()]
    if place is None:
        return Reply(answer, found.text, complaints=complaints)
    write_bytes(place, found.text.encode())
    return Reply(answer, f"wrote {place}", complaints=complaints)
