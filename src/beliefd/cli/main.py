"""The `beliefd` command. Modules that cost time to import are imported by the commands that use them."""

import click

from beliefd import __version__
from beliefd.cli.audit import audit
from beliefd.cli.calibration import calibration
from beliefd.cli.claim import claim
from beliefd.cli.demo import demo
from beliefd.cli.doctor import doctor
from beliefd.cli.experiment import experiment
from beliefd.cli.firewall import firewall
from beliefd.cli.inbox import inbox
from beliefd.cli.knowledge import knowledge
from beliefd.cli.lanes import evidence, hypothesis, intent
from beliefd.cli.policy import policy
from beliefd.cli.projection import projection
from beliefd.cli.proposition import proposition
from beliefd.cli.serve import serve
from beliefd.cli.session import session
from beliefd.cli.state import capability, state, tool
from beliefd.cli.token import token
from beliefd.cli.uncertainty import uncertainty

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(context_settings=CONTEXT)
@click.version_option(__version__, prog_name="beliefd")
def main() -> None:
    """A belief server for AI agents: they propose, beliefd decides, one ledger remembers why."""


COMMANDS = (
    demo,
    serve,
    session,
    claim,
    inbox,
    state,
    capability,
    tool,
    hypothesis,
    experiment,
    evidence,
    intent,
    firewall,
    proposition,
    knowledge,
    projection,
    audit,
    policy,
    uncertainty,
    calibration,
    token,
    doctor,
)
for command in COMMANDS:
    main.add_command(command)

if __name__ == "__main__":
    main()
