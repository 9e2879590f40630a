"""`python -m beliefd` is `beliefd`."""

from beliefd.cli.main import main

main()
