"""`python -m beliefd` is `beliefd`."""

import gc
import sys

GARBAGE = 50_000
"""Objects between two searches for cycles. Importing makes many and no garbage: with Python's own 700, a
tenth of the time of a short command goes into looking for some. A server sets its own number."""
NO_CLIENTS = ("install", "uninstall", "doctor", "-h", "--help")


def main() -> None:
    """The command line; a hook, which runs before each tool of an agent, without importing the rest."""
    gc.set_threshold(GARBAGE)
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "hook" and arguments[1] not in NO_CLIENTS:
        from beliefd.hooks.entry import main as hook

        hook(arguments[1:])
    from beliefd.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
