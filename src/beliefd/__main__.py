"""`python -m beliefd` is `beliefd`."""

import atexit
import gc
import signal
import sys

GARBAGE = 500_000
"""Objects between two searches for cycles. Importing makes many and no garbage: with Python's own 700, a
fifth of the time of a short command goes into looking for some. A server sets its own number."""
AGAIN_SECONDS = 0.01
NO_CLIENTS = ("install", "uninstall", "doctor", "-h", "--help")


def main() -> None:
    """The command line; a hook, which runs before each tool of an agent, without importing the rest."""
    gc.set_threshold(GARBAGE)
    atexit.register(gc.freeze)  # nor is any looked for at the end, when all goes anyway
    sys.unraisablehook = _again_if_interrupted
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "hook" and arguments[1] not in NO_CLIENTS:
        from beliefd.hooks.entry import main as hook

        hook(arguments[1:])
    from beliefd.cli.main import main as command_line

    command_line()


def _again_if_interrupted(lost: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C that comes while an object is collected would be printed and forgotten: it is said once more."""
    if not isinstance(lost.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)


if __name__ == "__main__":
    main()
