"""A server that an outsider was given files of, and the two verifiers that need nothing else."""

from pathlib import Path
from typing import Any

import beliefd as package
from beliefd.testing.world import ONTOLOGY
from tests.cli.runner import answer, beliefd
from tests.conformance.node import Verdict, run_node


class Case:
    """A store of which three checkpoints were kept while a session grew, and what an outsider was given."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.data = place / "data"
        self.data.mkdir(mode=0o700)
        self.session = ""
        self.grow(0)
        for number in (1, 2, 3):
            answer("log", "checkpoint", "--now", "-o", self.at(f"cp{number}"), "--data", self.data)
            self.grow(number)
        self.at("key").write_text(beliefd("log", "key", "show", "--data", self.data).stdout)
        self.export("cp2", "ledger")

    def at(self, name: str) -> Path:
        return self.place / name

    def grow(self, number: int) -> None:
        with package.open(self.data / "beliefd.db") as opened:
            if not number:
                self.session = opened.declare_session(["a", "b"], ONTOLOGY).session_id
            opened.eliminate(
                self.session,
                source_id="s",
                observation_id=f"o{number}",
                eliminated=["a"],
                justification={},
            )

    def export(self, checkpoint: str, name: str) -> None:
        place = ("-o", self.at(name), "--checkpoint", self.at(checkpoint))
        answer("audit", "export", self.session, *place, "--data", self.data)

    def verify(self, checkpoint: str, *more: str | Path, code: int = 0) -> Any:
        given = ("--ledger", self.at("ledger"), "--checkpoint", self.at(checkpoint), "--key", self.at("key"))
        return answer("audit", "verify", *given, *more, code=code)

    def node(self, *names: str) -> Verdict:
        return run_node("verify_log.mjs", *(one if one == "--later" else str(self.at(one)) for one in names))
