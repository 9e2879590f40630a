"""What operators look at: health, readiness, metrics, and the document."""

import math
import re
import time
from pathlib import Path

import httpx

from beliefd import __version__
from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from tests.http.calls import declare, eliminate, error_of
from tests.http.conftest import Tokens
from tests.support.server import ServerProcess, server_process

SAMPLE = re.compile(r"(?P<name>[a-z_]+)(?:\{(?P<labels>[^}]*)\})? (?P<value>\S+)")
LABEL = re.compile(r'(?P<name>[a-z_]+)="(?P<value>[^"\\\n]*)"')
Sample = tuple[str, tuple[tuple[str, str], ...]]


def parse(text: str) -> tuple[dict[str, str], dict[Sample, float]]:
    """Prometheus' text format, as strictly as its description: types by family, values by sample."""
    assert text.endswith("\n")
    types: dict[str, str] = {}
    helped: set[str] = set()
    samples: dict[Sample, float] = {}
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            helped.add(line.split(" ", 3)[2])
            continue
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            assert kind in ("counter", "gauge", "histogram")
            assert family not in types
            assert family in helped
            types[family] = kind
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        labels = tuple((found["name"], found["value"]) for found in LABEL.finditer(match["labels"] or ""))
        assert ",".join(f'{name}="{value}"' for name, value in labels) == (match["labels"] or "")
        family = re.sub(r"_(bucket|sum|count)$", "", match["name"])
        assert match["name"] in types or types[family] == "histogram", line
        assert (match["name"], labels) not in samples
        samples[match["name"], labels] = float(match["value"])
    return types, samples


def test_health_names_the_version(http: httpx.Client) -> None:
    for path in ("/healthz", "/readyz"):
        body = {"status": "ok", "version": __version__, "protocol": "belief/1"}
        assert http.get(path).json() == body
        assert http.head(path).status_code == 200


def test_operators_need_no_token(guarded: tuple[ServerProcess, Tokens]) -> None:
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert httpx.get(guarded[0].url + path, verify=False).status_code == 200


def test_metrics_are_for_whoever_may_read_everything_once_there_are_tokens(
    guarded: tuple[ServerProcess, Tokens],
) -> None:
    process, tokens = guarded
    url = f"{process.url}/metrics"
    error_of(httpx.get(url, verify=False), 401, Code.UNAUTHORIZED)
    for role, token in tokens.items():
        answer = httpx.get(url, verify=False, headers={"Authorization": f"Bearer {token}"})
        if role is Role.ADMIN:
            parse(answer.text)
        else:
            error_of(answer, 403, Code.FORBIDDEN)


def test_metrics_are_prometheus_text_and_count(http: httpx.Client, session_id: str) -> None:
    before = parse(http.get("/metrics").text)[1]
    eliminate(http, session_id, "a")
    eliminate(http, session_id, "zebra")
    http.get("/v1/nothing")
    answer = http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    types, after = parse(answer.text)

    def grown(name: str, **labels: str) -> float:
        sample = (name, tuple(labels.items()))
        return after[sample] - before.get(sample, 0)

    assert grown("beliefd_http_requests_total", operation="eliminate", status="200") == 1
    assert grown("beliefd_http_requests_total", operation="eliminate", status="400") == 1
    assert grown("beliefd_http_requests_total", operation="none", status="404") == 1
    assert grown("beliefd_events_total", verb="ELIMINATE", kind="eliminated") == 1
    assert grown("beliefd_events_total", verb="ELIMINATE", kind="refused") == 1
    assert types["beliefd_http_request_seconds"] == "histogram"
    verb = ("operation", "eliminate")
    buckets = [
        value
        for (name, labels), value in after.items()
        if name == "beliefd_http_request_seconds_bucket" and verb in labels
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1] == after["beliefd_http_request_seconds_count", (verb,)]
    assert math.isfinite(after["beliefd_http_request_seconds_sum", (verb,)])


def test_no_label_carries_what_a_caller_wrote(http: httpx.Client, session_id: str) -> None:
    eliminate(http, session_id, "zebra")
    http.get("/v1/zebra")
    http.request("ZEBRA", "/v1/sessions")
    text = http.get("/metrics").text
    assert session_id not in text
    assert "zebra" not in text.lower()


def _ready_once_it_is(http: httpx.Client, status: int) -> httpx.Response:
    """The store is asked once a second at most: what was found a moment ago is told until then."""
    deadline = time.monotonic() + 30
    while (answer := http.get("/readyz")).status_code != status and time.monotonic() < deadline:
        time.sleep(0.05)
    return answer


def test_ready_says_no_when_the_store_is_gone_and_yes_when_it_is_back(tmp_path: Path) -> None:
    with (
        server_process(tmp_path) as server,
        httpx.Client(base_url=server.url, verify=False, timeout=60) as http,
    ):
        session_id = declare(http)
        assert http.get("/readyz").status_code == 200
        away = tmp_path.with_name("elsewhere")
        tmp_path.rename(away)
        error_of(_ready_once_it_is(http, 503), 503, Code.STORAGE_UNAVAILABLE)
        assert http.get("/healthz").status_code == 200
        away.rename(tmp_path)
        assert _ready_once_it_is(http, 200).status_code == 200
        assert eliminate(http, session_id, "a").status_code == 200
