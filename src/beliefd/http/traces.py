"""The span of a request over HTTP, where its caller says that it belongs."""

from collections.abc import Iterable
from contextlib import AbstractContextManager

from beliefd import tracing
from beliefd.protocol.operations import Operation


def traced(
    method: str, operation: Operation | None, headers: Iterable[tuple[bytes, bytes]]
) -> AbstractContextManager[tracing.Span]:
    given = {
        name.decode(): value.decode("latin-1")
        for name, value in headers
        if name in (b"traceparent", b"tracestate")
    }
    said: dict[str, str | int | bool] = {"http.request.method": method}
    if operation is not None:
        said |= {"http.route": operation.path, "beliefd.operation": operation.name}
    name = f"{method} {operation.path}" if operation is not None else method
    return tracing.span(name, said, parent=tracing.read(given), kind="server")
