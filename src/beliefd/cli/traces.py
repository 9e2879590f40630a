"""Where traces go: the setting that commands share which run for long, and what it switches on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from beliefd.cli.options import setting

OTLP: Final = setting(
    "--otlp",
    "BELIEFD_OTLP",
    "Send traces to this OpenTelemetry collector (OTLP over HTTP); needs the extra `otel`.",
    metavar="URL",
)


@contextmanager
def traced(otlp: str | None) -> Iterator[None]:
    """Traces go to a collector meanwhile, if there is one."""
    if otlp is None:
        yield
        return
    from beliefd import telemetry

    tracer = telemetry.start(otlp)
    try:
        yield
    finally:
        telemetry.stop(tracer)
