"""A session that is told to the kernel command by command and sealed into a ledger, without a steward."""

from typing import Any

import msgspec

from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.canonical import canonical
from beliefd.kernel.commands import Command
from beliefd.kernel.decide import decide
from beliefd.kernel.event import Refused
from beliefd.kernel.events import Event
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.facts import Facts, Findings
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.values import Head, Principal
from beliefd.ledger.chain import policy_hash, seal
from beliefd.ledger.envelope import Entry, Sealed, head_of, read
from beliefd.ledger.replay import Position
from beliefd.ledger.transfer import entry_lines, header_line
from beliefd.testing.frozen import Clock
from beliefd.testing.world import AGENT, ONTOLOGY


class KernelSession:
    """INVARIANT: every command is in the ledger afterwards, refused or not."""

    def __init__(
        self,
        declaration: DeclareSession | None = None,
        policy: Policy | None = None,
        *,
        session_id: str = "s",
        clock: Clock | None = None,
        findings: Findings | None = None,
    ) -> None:
        self.session_id = session_id
        self.policy = policy or Policy()
        self.findings = findings
        self.clock = clock or Clock()
        self.policies: dict[str, Policy] = {}
        self.entries: list[Sealed] = []
        self.events: list[Event] = []
        command = declaration or DeclareSession(ontology=ONTOLOGY, hypotheses=("h1", "h2"))
        self.session: Session = begin(session_id, command)
        self._keep(None, command, self._facts(AGENT, None, None))

    def ask(
        self,
        command: Command,
        who: Principal = AGENT,
        findings: Findings | None = None,
        policy: Policy | None = None,
    ) -> Event:
        """What the kernel makes of a command."""
        return self._keep(self.session, command, self._facts(who, findings, policy))

    def tell(self, command: Command, who: Principal = AGENT, findings: Findings | None = None) -> Any:
        """The same, where the kernel must not refuse."""
        event = self.ask(command, who, findings)
        assert not isinstance(event, Refused), event
        return event

    def _facts(self, who: Principal, findings: Findings | None, policy: Policy | None) -> Facts:
        chosen = policy or self.policy
        name = policy_hash(chosen)
        self.policies[name] = chosen
        return Facts(
            now=self.clock.now(),
            event_id=self.clock.new_id(),
            principal=who,
            policy=chosen,
            policy_hash=name,
            findings=findings or self.findings,
        )

    def _keep(self, before: Session | None, command: Command, facts: Facts) -> Event:
        event = decide(before, command, facts)
        if before is not None:
            self.session = evolve(before, event)
        head = self.head if self.entries else None
        self.entries.append(seal(before, command, event, self.session, head, facts))
        self.events.append(event)
        return event

    @property
    def head(self) -> Head:
        return head_of(self.entries[-1])

    @property
    def position(self) -> Position:
        return Position(self.session, self.head)

    @property
    def recorded(self) -> list[Entry]:
        return [read(one.record) for one in self.entries]

    @property
    def export(self) -> bytes:
        documents = {name: canonical(msgspec.to_builtins(one)) for name, one in self.policies.items()}
        return header_line(self.session_id, self.head, documents) + b"".join(entry_lines(self.entries))
