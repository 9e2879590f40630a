"""Makes the worked values: format vectors for machines, and the example at the end of BELIEF_PROTOCOL.md.

    python conformance/make_vectors.py            prints the example
    python conformance/make_vectors.py --write    writes vectors/formats/*.json and the example into the text

A test compares what is written with what this script makes, so that neither can drift.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from beliefd.kernel.beliefs.commands import DeclareConclusion, DeclareSession, Eliminate
from beliefd.kernel.beliefs.survivors import UNIVERSE_DOMAIN, Survivors, Universe
from beliefd.kernel.canonical import canonical, digest
from beliefd.kernel.commands import Command
from beliefd.kernel.decide import decide
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.strict_json import Unreadable, loads
from beliefd.kernel.values import OntologyBundle, Principal, Role
from beliefd.ledger.chain import genesis_hash, seal
from beliefd.ledger.envelope import Sealed, head_of
from beliefd.ledger.transfer import entry_lines, header_line
from beliefd.testing.frozen import frozen_environment

HERE: Final = Path(__file__).parent
PROTOCOL_TEXT: Final = HERE.parent / "BELIEF_PROTOCOL.md"
BEGIN, END = "<!-- worked example: begin -->", "<!-- worked example: end -->"
ONTOLOGY: Final = {
    "hypothesis_space_id": "incident-causes",
    "hypothesis_version": "3",
    "causal_graph_ref": "graphstore://postgres-repl",
    "causal_graph_version": "v17",
}
# Written out, so that the example stays what it is when policies learn new words.
POLICY: Final = {"termination": {"force_roles": ["admin", "approver"], "stability_window": 0}, "v": 1}

ACCEPTED: Final = {
    "scalars": '[null, true, false, 0, -1, "text"]',
    "empty": '{"a": [], "b": {}, "c": ""}',
    "whitespace goes": ' { "b" : [ 1 , 2 ] , "a" : "x y" } ',
    "keys in UTF-16 order": '{"\U00010000": 1, "\uffff": 2, "\ue000": 3, "b": 4, "": 5, "\u00e9": 6, "B": 7}',
    "keys that look like numbers": '{"10": 1, "9": 2, "1": 3}',
    "a key that some languages keep for themselves": '{"__proto__": {"x": 1}, "constructor": 2}',
    "escapes, as few as JSON allows": r'"\u0000\b\t\n\u000b\f\r\u001f \" \\ \/ \u007f \u2028 \ud83d\ude00"',
    "whole numbers": "[0, -0, 1.0, 10, 1e2, 9007199254740991, -9007199254740991, 9007199254740991.0]",
    "fractions": "[0.1, -0.5, 1.5e-3, 0.000001, 0.0000001, 123456789.12345679, 1e-7, 0.30000000000000004]",
    "negative zero": "[-0.0, 0.0, -0e5]",
    "from 1e21 on with an exponent": "[1e21, 1.5e300, 1.7976931348623157e308, -1e22]",
    "the smallest": "[5e-324, 2.2250738585072014e-308, 4.9e-324]",
    "nested as deep as allowed": "[" * 65 + "]" * 65,
}
REFUSED: Final = {
    "nothing": "",
    "a key twice": '{"a": 1, "b": 2, "a": 1}',
    "a key twice, once escaped": r'{"a": 1, "\u0061": 2}',
    "a key twice, deep inside": '[{"x": {"k": 1, "k": 1}}]',
    "NaN": "[NaN]",
    "an infinity": "[-Infinity]",
    "a number out of range": "[1e400]",
    "an integer past 2^53 - 1": "[9007199254740992]",
    "the same with a point": "[9007199254740992.0]",
    "a number that would be written as one": "[1e20]",
    "a very long integer": "[" + "1" * 400 + "]",
    "a lone high surrogate": r'["\ud800"]',
    "a lone low surrogate as a key": r'{"\udc00": 1}',
    "a raw control character": '["\t"]',
    "a bad escape": r'["\x41"]',
    "a leading zero": "[01]",
    "a leading plus": "[+1]",
    "a point without digits": "[1.]",
    "a trailing comma": "[1,]",
    "single quotes": "['a']",
    "a comment": "[1] // one",
    "two values": "{} {}",
    "a byte order mark": "\ufeff{}",
    "nested too deep": "[" * 66 + "]" * 66,
}
UNIVERSES: Final = [
    (["bad_deploy", "disk_full", "dns"], [["bad_deploy", "disk_full", "dns"], ["bad_deploy", "dns"], []]),
    (["dns", "disk_full", "bad_deploy", "dns"], [["dns"]]),
    (["a,b", "c"], [["a,b", "c"]]),
    (["a", "b,c"], [["a", "b,c"]]),
    (["\uffff", "\U00010000", "z"], [["\uffff"], ["\U00010000"]]),
    ([f"h{at}" for at in range(17)], [[f"h{at}" for at in range(0, 17, 2)], ["h9"]]),
]


def canonical_vectors() -> dict[str, Any]:
    accepted = []
    for name, text in ACCEPTED.items():
        written = canonical(loads(text.encode()))
        accepted.append(
            {
                "name": name,
                "json": text,
                "canonical": written.decode(),
                "sha256": hashlib.sha256(written).hexdigest(),
            }
        )
    for name, text in REFUSED.items():
        try:
            loads(text.encode())
        except Unreadable:
            continue
        raise AssertionError(f"`{name}` was accepted")
    refused = [{"name": name, "json": text} for name, text in REFUSED.items()]
    return {"clauses": ["beliefs.canonical"], "accepted": accepted, "refused": refused}


def hash_vectors() -> dict[str, Any]:
    policies: list[Any] = [POLICY, {"v": 1}]
    return {
        "clauses": ["beliefs.entry-hash", "beliefs.canonical"],
        "universes": [universe_vector(*case) for case in UNIVERSES],
        "genesis": [
            genesis_vector("019b7600-0000-7000-8000-000000000001", ["dns", "bad_deploy", "disk_full"]),
            genesis_vector("another session", ["dns", "bad_deploy", "disk_full"]),
        ],
        "policies": [{"document": document, "policy_hash": digest(document)} for document in policies],
    }


def universe_vector(hypotheses: list[str], cases: list[list[str]]) -> dict[str, Any]:
    universe = Universe(hypotheses)
    survivors = [Survivors(universe).without(set(hypotheses) - set(kept)) for kept in cases]
    return {
        "hypotheses": hypotheses,
        "universe_hash": universe.digest.hex(),
        "survivors": [
            {"surviving": kept, "bitmap": found.to_bytes().hex(), "survivors_hash": found.digest}
            for kept, found in zip(cases, survivors, strict=True)
        ],
    }


def genesis_vector(session_id: str, hypotheses: list[str]) -> dict[str, Any]:
    return {
        "session_id": session_id,
        "ontology": ONTOLOGY,
        "hypotheses": hypotheses,
        "genesis_hash": genesis_hash(begin(session_id, declaration(hypotheses))),
    }


def declaration(hypotheses: list[str]) -> DeclareSession:
    return DeclareSession(ontology=msgspec.convert(ONTOLOGY, OntologyBundle), hypotheses=tuple(hypotheses))


def small_ledger() -> list[str]:
    """Three hypotheses, one elimination, one accepted conclusion: the lines of its export."""
    commands: tuple[Command, ...] = (
        declaration(["dns", "disk_full", "bad_deploy"]),
        Eliminate(
            source_id="adapter://sre",
            observation_id="df-h",
            eliminated=("disk_full",),
            justification={"free": 0.42},
        ),
        DeclareConclusion(conclusion_id="not the disk"),
    )
    outside = frozen_environment()
    session_id, session, entries = outside.new_id(), None, list[Sealed]()
    for command in commands:
        facts = Facts(
            now=outside.now(),
            event_id=outside.new_id(),
            principal=Principal(id="agent://triage", role=Role.AGENT),
            policy=msgspec.convert(POLICY, Policy),
            policy_hash=digest(POLICY),
        )
        event = decide(session, command, facts)
        after = begin(session_id, commands[0]) if session is None else evolve(session, event)  # type: ignore[arg-type]
        head = head_of(entries[-1]) if entries else None
        entries.append(seal(session, command, event, after, head, facts))
        session = after
    header = header_line(session_id, head_of(entries[-1]), {digest(POLICY): canonical(POLICY)})
    return (header + b"".join(entry_lines(entries))).decode().splitlines()


def worked_example() -> str:
    """The example of the protocol's last section, as Markdown."""
    universe = Universe(["dns", "disk_full", "bad_deploy"])
    framed = UNIVERSE_DOMAIN + b"".join(
        len(name.encode()).to_bytes(4, "big") + name.encode() for name in universe.ids
    )
    header, *lines = small_ledger()
    first = json.loads(lines[0])
    parts = [
        "The universe of `dns`, `disk_full` and `bad_deploy`, sorted: " + ", ".join(universe.ids) + ".\n",
        listing("bytes that are hashed, in hex", framed.hex()),
        listing("universe hash", universe.digest.hex()),
    ]
    for survivors in (Survivors(universe), Survivors(universe).without(["disk_full"])):
        bitmap = survivors.to_bytes()
        parts.append(
            listing(f"survivors hash of {', '.join(survivors)}; bitmap `{bitmap.hex()}`", survivors.digest)
        )
    genesis = {
        "ontology": ONTOLOGY,
        "protocol": "belief/1",
        "session_id": first["session_id"],
        "universe_hash": universe.digest.hex(),
    }
    parts += [
        listing("genesis document, canonical", canonical(genesis).decode()),
        listing("genesis hash: `prev_hash` of the first event", first["prev_hash"]),
        listing("policy, canonical", canonical(POLICY).decode()),
        listing("policy hash", digest(POLICY)),
        listing("the whole export: a header and three events", "\n".join([header, *lines])),
        listing("verdict", f"ok {len(lines)} events, head {json.loads(lines[-1])['hash']}"),
    ]
    return "\n".join(parts)


def listing(title: str, body: str) -> str:
    return f"{title[0].upper()}{title[1:]}:\n\n```text\n{body}\n```\n"


def with_example(text: str) -> str:
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{worked_example()}\n{END}{after}"


def format_files() -> dict[Path, str]:
    folder = HERE / "vectors" / "formats"
    made = {"canonical.json": canonical_vectors(), "hashes.json": hash_vectors()}
    return {folder / name: json.dumps(value, indent=1) + "\n" for name, value in made.items()}


def main(arguments: list[str]) -> int:
    if arguments == []:
        print(worked_example())
    elif arguments == ["--write"]:
        for path, text in format_files().items():
            path.write_text(text)
        PROTOCOL_TEXT.write_text(with_example(PROTOCOL_TEXT.read_text()))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
