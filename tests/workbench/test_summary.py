"""What timed calls come to: values of each process, intervals over processes, tails only where calls are many."""

import math

import pytest

from workbench.logbook import Logbook, Visit
from workbench.summary import in_milliseconds, times_of

MS = 1_000_000


def turn(milliseconds, texts):
    return {
        **{"tokenize_ns": [MS // 2] * texts, "model_ns": [round(milliseconds * MS)] * texts},
        **{"logits": [[1.0, 0.0]] * texts, "cpu_seconds": 0.002 * texts, "switches": 0},
    }


def log_of(*processes: float, texts: int = 8, rounds: int = 2, shapes=()) -> Logbook:
    """A logbook of one contestant whose calls take as many milliseconds as its process says."""
    log = Logbook(["drop"])
    for process, taken in enumerate(processes):
        opened = {"load_ns": 40 * MS, "tokens": [5] * texts, **turn(3 * taken, texts)}
        log.ready("drop", process, {name: opened[name] for name in ("load_ns", "model_ns", "tokens", "logits")})
        for number in range(rounds):
            log.block(Visit("drop", process, "natural", number), turn(taken, texts), kept=True)
        for batch, length in shapes:
            log.calls(Visit("drop", process, "grid", samples=batch, tokens=length), {"model_ns": [batch * MS]})
        log.calls(Visit("drop", process, "throughput", samples=texts), {"model_ns": [round(taken * MS * texts / 4)]})
    return log


def summed(log: Logbook):
    return {found.metric: found for found in times_of("drop", log.seen["drop"], log.timings())}


def test_each_process_gives_one_value_and_the_interval_is_theirs():
    found = summed(log_of(10.0, 12.0))
    assert found["latency"].values == (10.0, 12.0)
    middle = math.sqrt(10 * 12)
    reach = math.tan(0.475 * math.pi) * math.log(1.2) / 2
    assert found["latency"].interval == pytest.approx((middle * math.exp(-reach), middle * math.exp(reach)))
    assert (found["latency"].unit, found["latency"].better) == ("ms", "lower")


def test_tokens_and_model_are_told_apart_and_together():
    found = summed(log_of(10.0, 10.0))
    assert (found["tokenization"].value, found["end-to-end"].value) == pytest.approx((0.5, 10.5))


def test_throughput_has_its_own_unit_and_direction():
    found = summed(log_of(10.0, 20.0))["throughput"]
    assert found.values == pytest.approx((400.0, 200.0))
    assert (found.unit, found.better) == ("samples/s", "higher")


def test_opening_and_the_first_call_are_told_apart_from_the_rest():
    found = summed(log_of(10.0, 10.0))
    assert found["cold-start/load"].values == (40.0, 40.0)
    assert found["cold-start/first-call"].values == (30.0, 30.0)


def test_processor_time_is_told_for_a_thousand_samples():
    found = summed(log_of(10.0, 10.0))["processor-time"]
    assert (found.value, found.unit) == (pytest.approx(2.0), "s per 1,000 samples")


@pytest.mark.parametrize(("rounds", "tails"), [(3, []), (4, ["latency/p90"]), (42, ["latency/p90", "latency/p99"])])
def test_tails_are_told_only_where_calls_are_many(rounds, tails):
    found = summed(log_of(10.0, 10.0, rounds=rounds))
    assert [metric for metric in found if metric.startswith("latency/p")] == tails


def test_shapes_are_told_each_by_batch_and_length():
    found = summed(log_of(10.0, 10.0, shapes=[(1, 16), (8, 16)]))
    assert found["latency/1x16"].values == (1.0, 1.0)
    assert found["latency/8x16"].values == (8.0, 8.0)
    assert "latency/8x32" not in found


def test_one_process_alone_has_no_interval():
    assert in_milliseconds("latency", [3.0]).interval is None
    assert in_milliseconds("latency", [3.0, 3.0]).interval == pytest.approx((3.0, 3.0))
