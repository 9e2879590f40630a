"""What a benchmark counts of the answers to its load."""

from benchmarks.load import Load, Meter


def meter() -> Meter:
    made = Meter(Load(port=0, connections=1, warm_up=0.0, seconds=2.0, paths=["/"], bodies=["{}"]))
    made.begin, made.end = 10.0, 12.0
    return made


def test_answers_between_the_warm_up_and_the_end_are_counted() -> None:
    counting = meter()
    assert [counting.goes_on(now) for now in (9.0, 10.0, 11.0, 12.5)] == [True, True, True, False]
    assert counting.rate == 1.0


def test_a_machine_too_busy_to_answer_in_time_has_a_rate_all_the_same() -> None:
    late = meter()
    assert [late.goes_on(now) for now in (14.0, 15.0)] == [False, False]
    assert late.rate == 0.25
