"""Every benchmark runs, at sizes that say nothing about speed, and prints its ratio."""

import json
from pathlib import Path

import pytest
from benchmarks import hostile, profile, served, turns
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.attacks import post
from benchmarks.figures import Run, Target, alternate
from benchmarks.rest import REST, small_contents
from benchmarks.victim import attacked


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_runs_and_prints_its_ratio(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--json", name]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert {figure["benchmark"] for figure in figures} == {name}
    # What is added is a difference of two medians: a few calls on a busy machine can make it negative.
    assert all(figure["ours"] > 0 or "added" in figure["what"] for figure in figures)
    compared = [figure for figure in figures if figure["peer"] is not None]
    assert compared
    for figure in compared:
        assert figure["ratio"] > 0 or "added" in figure["what"]
        assert figure["ratio_is"]
        assert figure["peer_is"]
    honest = [figure for figure in figures if figure["what"].endswith("honest requests answered")]
    assert all(figure["ours"] == 1 for figure in honest)
    assert not [figure["what"] for figure in figures if figure["what"].endswith("answered as expected")]


def test_no_honest_request_fails_beside_an_attack(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--json", "--seconds", "2", "hostile"]) == 0
    figures = json.loads(capsys.readouterr().out)
    [honest] = [one for one in figures if one["what"].endswith("honest requests answered")]
    assert honest["ours"] == 1
    assert any(one["what"] == "beliefd_sessions_in_memory" for one in figures)


def test_an_attack_that_is_answered_otherwise_than_it_says_misses_its_target(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        hostile, "ATTACKS", {"some": lambda victim: post(victim, "/healthz", b"x", 200, method="DELETE")}
    )
    figures = hostile.hostile(Run(tmp_path, quick=True))
    [missed] = [one.what for one in figures if one.what.endswith("answered as expected")]
    assert missed == "some: answered as expected"
    assert [one.met for one in figures if one.what == missed] == [False]


def test_an_operation_that_nobody_attacks_ends_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert hostile.without_row() == []
    monkeypatch.setattr(hostile, "REST", {})
    with pytest.raises(SystemExit, match="revoke_token"):
        hostile.hostile(Run(tmp_path, quick=True))


def test_what_is_left_is_answered_as_it_says(tmp_path: Path) -> None:
    with attacked(tmp_path / "hostile", hostile.QUICK_SCALE) as victim:
        for row in (*REST.values(), small_contents):
            assert row(victim) > 0
        assert victim.surprises == []


def test_figures_are_chosen_by_name_and_shown_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "canonical"]) == 0
    shown = capsys.readouterr().out
    assert "rfc8785" in shown
    assert "ratio" in shown
    assert "eventsourcing" not in shown


def test_an_unknown_benchmark_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["spped"])
    assert "there is no benchmark `spped`" in capsys.readouterr().err


def test_both_sides_are_measured_turn_by_turn() -> None:
    order: list[str] = []

    def side(name: str) -> float:
        order.append(name)
        return float(len(order))

    assert alternate(3, lambda: side("ours"), lambda: side("peer")) == (4.0, 3.0)
    assert order == ["ours", "peer", "peer", "ours", "ours", "peer"]


@pytest.mark.parametrize(
    ("target", "met", "missed"),
    [(Target(at_least=5), (5.0, 9.0), (4.9,)), (Target(at_most=1.2), (1.2, 0.1), (1.21,))],
)
def test_a_target_is_met_on_its_own_side_only(
    target: Target, met: tuple[float, ...], missed: tuple[float, ...]
) -> None:
    assert all(target.met(value) for value in met)
    assert not any(target.met(value) for value in missed)


def test_the_profile_says_where_a_request_s_time_goes(capsys: pytest.CaptureFixture[str]) -> None:
    assert profile.main(["--quick"]) == 0
    shown = capsys.readouterr().out
    for part in (*profile.PARTS.values(), profile.LOOP, "event loop's thread", "writing thread"):
        assert part in shown


@pytest.mark.parametrize("job", turns.JOBS)
def test_two_versions_are_compared_by_turns(job: str) -> None:
    assert all(figure > 0 for figure in turns.compared(turns.HERE, job, 3))


def test_two_versions_are_compared_as_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "SECONDS", 0.1)
    found = served.compared(served.HERE, "eliminate", 1)
    assert set(found) == {"ours", "its", served.ECHO}
    assert all(0 < loop <= threads for [(loop, threads)] in found.values())
