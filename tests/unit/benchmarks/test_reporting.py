"""What the benchmark suite says about figures: which part owns them, which bounds hold, and when a part failed."""

import json
from pathlib import Path

import pytest

from benchmarks import bounds, report, suite, timing
from benchmarks.bounds import Bound, Verdict


def test_a_part_measured_anew_replaces_its_own_figures_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    report.merge_results("kernels", {"kernel.search.n100_d384_us": 3.0, "kernel.gone": 1.0}, path)
    report.merge_results("growth", {"growth.users": 1.1}, path)
    report.merge_results("kernels", {"kernel.search.n100_d384_us": 4.0}, path)
    results = json.loads(path.read_text(encoding="utf-8"))
    assert results["kernel.search.n100_d384_us"] == 4.0
    assert "kernel.gone" not in results
    assert results["growth.users"] == 1.1
    assert results["measured.kernels"].startswith(results["commit"])
    assert results["measured.growth"]
    assert results["machine.cores"] >= 1
    assert results["version.numpy"]
    assert suite.figures_of(results) == {"kernel.search.n100_d384_us": 4.0, "growth.users": 1.1}


def test_a_part_may_not_write_the_figures_of_another(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"growth\.users"):
        report.merge_results("kernels", {"growth.users": 1.0}, tmp_path / "bench.json")
    assert not (tmp_path / "bench.json").exists()


def test_bounds_hold_up_to_their_limit_and_never_for_what_is_no_number() -> None:
    most, least = Bound("a", "<=", 1.25, "at most"), Bound("b", ">=", 0.8, "at least")
    assert [most.holds(value) for value in (1.0, 1.25, 1.2501, float("nan"))] == [True, True, False, False]
    assert [least.holds(value) for value in (0.7999, 0.8, 2.0, float("nan"))] == [False, True, True, False]
    assert Verdict(most, None).word == "not measured"


def test_the_table_of_bounds_names_each_with_its_verdict() -> None:
    figures = {"growth.users": 1.01, "growth.bytes_per_row_over_content": 2.5}
    lines = bounds.table(figures).splitlines()
    verdict_of = {bound.key: line for bound in bounds.BOUNDS for line in lines if f"`{bound.key}`" in line}
    assert len(verdict_of) == len(bounds.BOUNDS)
    assert verdict_of["growth.users"].endswith("| 1.010 | pass |")
    assert verdict_of["growth.bytes_per_row_over_content"].endswith("| 2.500 | FAIL |")
    assert verdict_of["kernel.bandwidth_share"].endswith("|  | not measured |")


def test_every_bound_belongs_to_a_part() -> None:
    owned = tuple(prefix for prefixes in report.PREFIXES.values() for prefix in prefixes)
    assert all(bound.key.startswith(owned) for bound in bounds.BOUNDS)
    assert {part.name for part in suite.PARTS} == set(report.PREFIXES)


def test_contenders_take_turns() -> None:
    order: list[str] = []
    taken = timing.interleaved(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 0.0, least_rounds=50, warm_ups=0
    )
    assert {name: len(values) for name, values in taken.items()} == {"a": 50, "b": 50}
    rounds = [order[at : at + 2] for at in range(0, 100, 2)]
    assert all(sorted(pair) == ["a", "b"] for pair in rounds)
    assert ["a", "b"] in rounds
    assert ["b", "a"] in rounds


def test_a_part_that_fails_leaves_the_others_and_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept: dict[str, dict[str, float]] = {}

    def run(part: suite.Part, pace: float, progress: timing.Progress) -> dict[str, float]:
        if part.name == "kernels":
            raise ImportError("no module named faiss")
        progress(part.name)
        return {f"{report.PREFIXES[part.name][0]}figure": pace}

    monkeypatch.setattr(suite.Part, "run", run)
    monkeypatch.setattr(suite, "merge_results", lambda name, figures: kept.update({name: figures}))
    failed = suite.measure(["kernels", "growth"], 0.5, suite.Clock())
    assert failed == ["kernels"]
    assert kept == {"growth": {"growth.figure": 0.5}}
    said = capsys.readouterr().err
    assert "kernels could not be measured: no module named faiss: `make bench` installs what it needs" in said
