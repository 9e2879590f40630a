"""The dashboard asks for metrics and labels that there are, and leaves none out."""

import json
import re
from pathlib import Path
from typing import Any

from beliefd.http.metrics import Metrics
from beliefd.steward.effects.anchored import Anchor, Anchored
from beliefd.stores.log import KeptCheckpoint
from beliefd.testing.world import World

ROOT = Path(__file__).parents[2]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy/grafana/beliefd.json").read_text())
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
ADDED = {"instance", "job"}
"""Labels that Prometheus itself puts on what it scrapes."""
SUFFIX = re.compile(r"_(bucket|sum|count)$")


def families() -> dict[str, set[str]]:
    """The metrics of a server that has done a little, with the labels that their samples have."""

    async def nowhere(_: KeptCheckpoint) -> None:
        """An anchor that takes everything."""

    with World() as house:
        house.agent.query_belief(house.session())
        metrics = Metrics()
        metrics.observe("query_belief", 200, 0.01)
        text = metrics.render(house.steward, Anchored((Anchor("folder", nowhere),), None)).decode()
    found: dict[str, set[str]] = {name: set() for name in re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)}
    for name, labels in re.findall(r"^(beliefd_\w+)(?:\{(.*)\})? \S+$", text, re.MULTILINE):
        family = name if name in found else SUFFIX.sub("", name)
        found[family] |= set(re.findall(r'(\w+)="', labels))
    return found


def asked(expression: str) -> tuple[set[str], set[str]]:
    names = set(re.findall(r"\bbeliefd_\w+", expression))
    labels = set(re.findall(r"(\w+)=~?\"", expression))
    for grouped in re.findall(r"by \(([^)]*)\)", expression):
        labels |= {one.strip() for one in grouped.split(",")}
    return names, labels


def test_every_query_is_about_metrics_and_labels_that_there_are() -> None:
    known = families()
    for expression in EXPRESSIONS:
        names, labels = asked(expression)
        assert names, expression
        for name in names:
            family = name if name in known else SUFFIX.sub("", name)
            assert family in known, f"{name} of `{expression}` is no metric"
            assert labels <= known[family] | ADDED, (
                f"`{expression}` asks for {labels - known[family] - ADDED}"
            )


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {SUFFIX.sub("", name) for expression in EXPRESSIONS for name in asked(expression)[0]}
    assert {SUFFIX.sub("", name) for name in families()} == shown


def test_legends_name_labels_that_their_query_leaves() -> None:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert named <= asked(target["expr"])[1], panel["title"]


def test_panels_have_places_and_numbers_of_their_own() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels)
