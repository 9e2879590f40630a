"""Proofs on the command line: questions from options, and files out of what is found."""

from collections.abc import Mapping
from pathlib import Path
from shlex import join
from typing import Any

import msgspec

from beliefd.cli.files import write_bytes
from beliefd.kernel.errors import invalid
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.ledger.chain import policy_hash
from beliefd.policy.compiling import compiled_for
from beliefd.policy.proving.process import prove
from beliefd.protocol.proofs import ProofAnswer
from beliefd.protocol.wire import convert


def questions_of(asked: Mapping[str, Any], new: Policy, old: Policy | None) -> tuple[Guarantee, ...]:
    """What the options ask for; without any, what is promised, and whether an update loosens anything."""
    given = {name: value for name, value in asked.items() if value}
    if given:
        return (convert(given, Guarantee),)
    own = tuple(one for one in new.prove or () if old is not None or one.update is msgspec.UNSET)
    update = Guarantee(update="loosens_nothing")
    found = own if old is None or update in own else (*own, update)
    if not found:
        raise invalid(
            "ask something, or give `--against`: the policy promises nothing under `prove`", "$.prove"
        )
    return found


def answered(new: Policy, old: Policy | None, questions: tuple[Guarantee, ...], seconds: int) -> ProofAnswer:
    compiled_for(new, questions)
    proofs = prove(new, questions, old, seconds)
    holds = all(one.answer == "proved" for one in proofs)
    return ProofAnswer(policy_hash=policy_hash(new), proofs=proofs, holds=holds)


def written(answer: ProofAnswer, folder: Path, policy: Path) -> Path | None:
    """Writes the calls that were found, and a script that has each judged again; None if there are none."""
    folder.mkdir(parents=True, exist_ok=True)
    commands = []
    for number, one in enumerate(answer.proofs, 1):
        if one.call is None:
            continue
        call, state = folder / f"{number}.call.json", folder / f"{number}.state.json"
        write_bytes(call, msgspec.json.format(msgspec.json.encode(one.call.call)) + b"\n")
        write_bytes(state, msgspec.json.format(msgspec.json.encode(one.call.state)) + b"\n")
        files = {"--policy": policy, "--state": state, "--call": call}
        options = (word for name, file in files.items() for word in (name, str(file.absolute())))
        commands.append(join(("beliefd", "policy", "explain", *options)))
    if not commands:
        return None
    script = folder / "replay.sh"
    write_bytes(script, "\n".join([*commands, ""]).encode())
    return script
