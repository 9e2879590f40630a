"""Traces by OpenTelemetry, sent to a collector as OTLP over HTTP. The extra `otel` brings what it needs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from beliefd import __version__, tracing
from beliefd.extras import install
from beliefd.kernel.errors import BeliefdError, Code, invalid

NEEDS: Final = f"traces need an extra: {install('otel')}"
PATH: Final = "/v1/traces"
PATIENCE_MS: Final = 5_000


class OpenTelemetrySpan:
    def __init__(self, made: Any) -> None:
        self._made = made

    def set(self, **attributes: str | int | bool) -> None:
        for name, value in attributes.items():
            self._made.set_attribute(name.replace("__", "."), value)

    def fail(self, kind: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        self._made.set_attribute("error.type", kind)
        self._made.set_status(Status(StatusCode.ERROR))


class OpenTelemetryTracer:
    """Spans of this process, by way of a provider of its own: other users of the library keep theirs."""

    def __init__(self, provider: Any) -> None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("beliefd", __version__)
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(
        self, name: str, attributes: tracing.Attributes, parent: Any, kind: str
    ) -> Iterator[OpenTelemetrySpan]:
        from opentelemetry.trace import SpanKind

        # A context is a mapping, too; what a request carries has names of its own.
        carried = parent is not None and "traceparent" in parent
        context = self._propagator.extract(dict(parent)) if carried else parent
        with self._tracer.start_as_current_span(
            name,
            context=context,
            kind=SpanKind[kind.upper()],
            attributes=dict(attributes),
            record_exception=False,  # what is raised may hold what an agent wrote
        ) as made:
            yield OpenTelemetrySpan(made)

    def current(self) -> Any:
        from opentelemetry import context, trace

        if not trace.get_current_span().get_span_context().is_valid:
            return None
        return context.get_current()

    def outgoing(self) -> Mapping[str, str]:
        headers: dict[str, str] = {}
        self._propagator.inject(headers)
        return headers

    def close(self) -> None:
        self._provider.force_flush(PATIENCE_MS)
        self._provider.shutdown()


def start(endpoint: str) -> OpenTelemetryTracer:
    """Send spans to this collector from now on, in batches, beside everything else.

    What the collector does not take is dropped: nothing waits for it.
    """
    if not endpoint.startswith(("http://", "https://")):
        raise invalid(
            f"`{endpoint}` is no address of a collector: it begins with http:// or https://", "otlp"
        )
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError:
        raise BeliefdError(Code.INVALID_REQUEST, NEEDS) from None
    resource = Resource.create({"service.name": "beliefd", "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    address = endpoint if endpoint.rstrip("/").endswith(PATH) else endpoint.rstrip("/") + PATH
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address)))
    made = OpenTelemetryTracer(provider)
    tracing.install(made)
    return made


def stop(made: OpenTelemetryTracer) -> None:
    tracing.install(None)
    made.close()
