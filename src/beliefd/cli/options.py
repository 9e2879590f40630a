"""Arguments and options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_args

import click
from click import argument, option

from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.values import JudgeName

JUDGE_NAMES = get_args(JudgeName)
F = TypeVar("F", bound=Callable[..., Any])
DIRECTORY = click.Path(file_okay=False, path_type=Path)
FILE_PATH = click.Path(dir_okay=False, path_type=Path)


def json_object(value: Any) -> dict[str, Any]:
    """An option that holds a JSON object, read as strictly as a request's body."""
    from beliefd.protocol.wire import parse_object

    if isinstance(value, dict):
        return value
    try:
        return parse_object(str(value).encode("utf-8", "surrogateescape"))
    except BeliefdError as error:
        raise click.BadParameter(error.message) from None


class Decorator(Protocol):
    """What `click.argument` and `click.option` give."""

    def __call__(self, command: F, /) -> F: ...


def together(*options: Decorator) -> Decorator:
    """Several arguments and options as one decorator, in the order in which help lists them."""

    def decorated(command: F) -> F:
        for add in reversed(options):
            command = add(command)
        return command

    return decorated


def setting(name: str, variable: str, help_text: str | None = None, **more: Any) -> Decorator:
    """An option that can be set in the environment too."""
    return option(name, envvar=variable, show_envvar=True, help=help_text, **more)


SESSION = argument("session_id", metavar="SESSION")
CLAIM = argument("claim_id", metavar="CLAIM")
FILE = argument("path", metavar="FILE")
CONTEXT = option("--context", type=json_object, default={}, metavar="JSON", help="Stored with the request.")
POLICY = option("--policy", "policy_file", type=FILE_PATH, help="YAML or JSON.")
KEY = option("--key", "idempotency_key", metavar="TEXT", help="Sending the same key again changes nothing.")
NOTES = option("--notes", metavar="TEXT", help="Stands in the record of the event, for people.")
CONDITIONS = together(
    option("--if-match", metavar="EVENT", help="Only if this is still the newest event."), KEY, NOTES
)
"""Under the names that the client's methods give them."""
AT = option(
    "--at", type=click.IntRange(1, MAX_SAFE_INTEGER), metavar="SEQ", help="As it was right after an event."
)
IN_SPACE = option("--in", "space", metavar="SPACE", help="The space that it goes into.")
OF_SESSION = together(
    SESSION,
    option("--claim", "claim_id", metavar="ID", help="Only those of this claim."),
    option("--cursor", metavar="ID", help="Continue after this one."),
)
"""What lists something of one session."""


def page_options(metavar: str, help_text: str = "Continue after this one.") -> Decorator:
    """What lists something over all sessions."""
    return together(
        option("--limit", type=click.IntRange(1, 500), default=50, show_default=True),
        option("--cursor", metavar=metavar, help=help_text),
        option("--in", "space", metavar="SPACE", help="Only those of this space."),
    )


_LLM = together(
    setting("--llm-model", "BELIEFD_LLM_MODEL", "The model to ask there.", metavar="NAME"),
    setting(
        "--llm-key",
        "BELIEFD_LLM_KEY",
        "Its API key; better in the environment than on the command line.",
        metavar="KEY",
    ),
)
JUDGE_MODELS = together(
    setting(
        "--embedding-model",
        "BELIEFD_EMBEDDING_MODEL",
        "Directory of an embedding model in ONNX; the extra `embed` brings one.",
        type=DIRECTORY,
    ),
    setting(
        "--nli-model",
        "BELIEFD_NLI_MODEL",
        "Directory of an NLI cross-encoder, for the judge `nli`.",
        type=DIRECTORY,
    ),
    setting(
        "--llm-url",
        "BELIEFD_LLM_URL",
        "OpenAI-compatible API, for the judge `llm`; or `smollm2`, or a GGUF file.",
        metavar="URL",
    ),
    _LLM,
)
"""Where the models of judges are; the names are those of JudgeSettings."""
JUDGES = together(
    setting(
        "--judge",
        "BELIEFD_JUDGE",
        "Who says which answers mean the same, to the gates too.",
        type=click.Choice(JUDGE_NAMES),
        default=JUDGE_NAMES[0],
    ),
    JUDGE_MODELS,
)
"""Which judge is asked, and where the models are."""


DETECTORS = setting(
    "--detector",
    "BELIEFD_DETECTORS",
    "Ask this detector: `builtin` (the default), or `embedding` of the extra `embed`. Can be repeated.",
    metavar="NAME",
    multiple=True,
)


def model_options(required: bool) -> Decorator:
    """`--model`, `--llm-model` and the key that goes with them."""
    where = option(
        "--model", required=required, metavar="WHERE", help="`smollm2`, a .gguf file, or an API's URL."
    )
    return together(where, _LLM)
