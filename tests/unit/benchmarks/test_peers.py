"""The peers benchmark: its corpus, its rounds, its report, and what every adapter must do."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks import suite
from benchmarks.peers import run
from benchmarks.peers.corpus import TOP_K, Corpus, Query, make, recall
from benchmarks.peers.peer import Found, Peer
from benchmarks.peers.report import (
    Measured,
    Missing,
    Outcome,
    document,
    figures,
    keep,
    rivals,
    table,
    verdicts,
)
from memlane_core.adapters.local_embedder import DIMENSION


def small(seed: int = 1) -> Corpus:
    return make(users=3, rows_each=60, dimension=DIMENSION, queries=30, seed=seed)


def exact(corpus: Corpus, query: Query) -> list[int]:
    """Row by row, in another way than the corpus finds it."""
    scored = sorted(
        (-sum(np.multiply(corpus.vectors[n], query.vector, dtype=np.float64)), n)
        for n in range(len(corpus))
        if corpus.user_of(n) == query.user_id and not corpus.deleted[n]
    )
    return [n for _, n in scored[:TOP_K]]


class TestCorpus:
    def test_equal_seeds_give_equal_bytes_and_another_seed_gives_others(self) -> None:
        one, again, other = small(), small(), small(seed=2)
        assert one.vectors.tobytes() == again.vectors.tobytes()
        assert one.deleted.tobytes() == again.deleted.tobytes()
        assert [q.vector.tobytes() for q in one.queries] == [q.vector.tobytes() for q in again.queries]
        assert [q.expected for q in one.queries] == [q.expected for q in again.queries]
        assert one.vectors.tobytes() != other.vectors.tobytes()

    def test_vectors_are_of_unit_length_and_a_part_is_deleted(self) -> None:
        corpus = small()
        assert corpus.vectors.dtype == np.float32 and corpus.vectors.shape == (180, DIMENSION)
        assert np.allclose(np.linalg.norm(corpus.vectors, axis=1), 1, atol=1e-5)
        assert 0.03 < corpus.deleted.mean() < 0.2

    def test_the_right_answers_are_the_users_nearest_that_are_not_deleted(self) -> None:
        corpus = small()
        for query in corpus.queries[:6]:
            assert query.expected == set(exact(corpus, query))

    def test_the_flag_matters_and_so_does_the_user(self) -> None:
        """Otherwise one who ignored the filter would have recall 1.0, too."""
        corpus = small()
        others = without = 0
        for query in corpus.queries:
            scores = corpus.vectors @ query.vector
            others += set(np.argsort(-scores)[:TOP_K].tolist()) != query.expected
            first, last = query.user * 60, query.user * 60 + 60
            of_user = np.argsort(-scores[first:last])[:TOP_K] + first
            without += set(of_user.tolist()) != query.expected
        assert others and without

    def test_too_few_rows_are_refused(self) -> None:
        with pytest.raises(ValueError, match="memories left"):
            make(users=1, rows_each=4, dimension=8, queries=1, seed=1)


def test_recall_counts_what_was_right_and_nothing_else() -> None:
    right = frozenset({1, 2, 3, 4, 5})
    assert recall([5, 4, 3, 2, 1], right) == 1.0
    assert recall([1, 2, 9, 8, 7, 6], right) == 0.4
    assert recall([], right) == 0.0


def seen(name: str, kind: str, p50_us: float, *, recall: float = 1.0) -> Measured:
    return Measured(
        name=name,
        title=name.upper(),
        kind=kind,  # type: ignore[arg-type]
        version=f"{name} 1.2",
        settings=f"as {name} likes it",
        recall=recall,
        calls=400,
        load_seconds=3.0,
        nbytes=5_000_000,
        p50_us=p50_us,
        p95_us=2 * p50_us,
        p99_us=4 * p50_us,
    )


OUTCOMES: list[Outcome] = [
    seen("memlane", "service", 500.0),
    seen("slow", "service", 9_000.0),
    seen("best", "service", 3_000.0),
    seen("sloppy", "service", 600.0, recall=0.93),
    seen("memlane_index", "engine", 100.0),
    seen("engine", "engine", 350.0),
    seen("bound", "reference", 50.0),
    Missing("absent", "ModuleNotFoundError: No module named 'absent'"),
]


class TestReport:
    def test_ratios_are_against_the_fastest_exact_one_of_the_kind(self) -> None:
        flat = figures(OUTCOMES)
        assert flat["peers.best_service_over_memlane.p50"] == 6.0
        assert flat["peers.best_engine_over_index.p50"] == 3.5
        assert [o.name for o in rivals(OUTCOMES, "service")] == ["best", "slow"]
        assert flat["peers.sloppy.recall"] == 0.93 and flat["peers.bound.p99_us"] == 200.0
        assert all(key.startswith("peers.") for key in flat)

    @pytest.mark.parametrize("without", ["memlane", "others"])
    def test_there_is_no_ratio_of_one_side_alone(self, without: str) -> None:
        left = [
            o
            for o in OUTCOMES
            if (o.name != "memlane" if without == "memlane" else o.name in ("memlane", "sloppy"))
        ]
        assert "peers.best_service_over_memlane.p50" not in figures(left)
        assert "not measured" in verdicts(left)

    def test_verdicts_name_the_rival_and_say_what_does_not_hold(self) -> None:
        service, engine = verdicts(OUTCOMES).splitlines()[2:]
        assert "| 6.00 | BEST | pass |" in service
        assert "| 3.50 | ENGINE | FAIL |" in engine

    def test_the_table_shows_everyone_and_who_is_missing(self) -> None:
        text = table(OUTCOMES)
        services = text[text.index("## Services") : text.index("## Engines")]
        assert services.index("MEMLANE") < services.index("SLOPPY") < services.index("BEST")
        assert "| BEST | 1.000 | 3.00 | 6.00 | 12.0 | 6.00 | 5 | 3 | 400 |" in services
        assert "| SLOPPY | 0.930 | 0.600 |" in services
        assert "| ENGINE | engine 1.2 | as engine likes it |" in text
        assert "- absent: ModuleNotFoundError: No module named 'absent'" in text

    def test_what_is_kept(self, tmp_path: Path) -> None:
        pytest.importorskip("matplotlib")
        bench = tmp_path / "bench.json"
        before = {"version.protobuf": "7.0", "peers.gone.p50_us": 1.0, "growth.users": 1.1}
        bench.write_text(json.dumps(before), encoding="utf-8")
        written = keep(OUTCOMES, small(), burst=10, folder=tmp_path, bench=bench)
        assert [path.name for path in written] == ["peers.json", "peers.md", "peers.png", "bench.json"]
        merged = json.loads(bench.read_text(encoding="utf-8"))
        assert merged["version.protobuf"] == "7.0" and merged["growth.users"] == 1.1
        assert merged["peers.best_engine_over_index.p50"] == 3.5
        assert "peers.gone.p50_us" not in merged and "measured.peers" in merged
        kept = json.loads((tmp_path / "peers.json").read_text(encoding="utf-8"))
        assert kept["missing"] == {"absent": "ModuleNotFoundError: No module named 'absent'"}
        assert kept["measured"][2]["version"] == "best 1.2" and kept["corpus"]["seed"] == 1
        assert (tmp_path / "peers.png").read_bytes().startswith(b"\x89PNG")

    def test_the_document_says_what_was_asked_of_whom(self) -> None:
        facts = dict.fromkeys(
            ("commit", "date", "machine.cpu", "machine.cores", "load_average_at_start"), "as it was"
        )
        text = document(OUTCOMES, small(), facts, burst=10)
        assert "3 users x 60 memories x 512 dimensions, 10% of them deleted, 30 queries, seed 1" in text
        assert "in bursts of 10 " in text and "- commit: as it was" in text


class Exact:
    """A peer in a few lines."""

    title, kind, settings = "exact", "engine", "none"
    breaks_at = 10**9

    def __init__(self) -> None:
        self.calls, self.closed = 0, False
        made.append(self)

    def load(self, corpus: Corpus, folder: Path) -> None:
        self.corpus = corpus

    def search(self, query: Query) -> list[Found]:
        self.calls += 1
        if self.calls == self.breaks_at:
            raise ConnectionError("gone\naway")
        return [(row, 1.0, "") for row in sorted(query.expected)]

    def version(self) -> str:
        return "1"

    def nbytes(self) -> int:
        return 1

    def close(self) -> None:
        self.closed = True


class Careless(Exact):
    def search(self, query: Query) -> list[Found]:
        return [(row, 1.0, "") for row in (*sorted(query.expected)[:4], -1)]


class Breaking(Exact):
    breaks_at = 35


class Unready(Exact):
    def load(self, corpus: Corpus, folder: Path) -> None:
        raise OSError("no room")


made: list[Exact] = []


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, type[Exact]]]:
    kinds = {"exact": Exact, "careless": Careless, "breaking": Breaking, "unready": Unready}

    def adapter(name: str) -> type[Exact]:
        if name == "absent":
            raise ModuleNotFoundError("No module named 'absent'")
        return kinds[name]

    monkeypatch.setattr(run, "ADAPTERS", dict.fromkeys([*kinds, "absent"], ""))
    monkeypatch.setattr(run, "adapter", adapter)
    made.clear()
    yield kinds


def test_one_that_fails_is_named_and_the_others_go_on(fakes: dict[str, type[Exact]]) -> None:
    said: list[str] = []
    outcomes = {o.name: o for o in run.measure([*fakes, "absent"], small(), 0.0, said.append)}
    assert list(outcomes) == ["exact", "careless", "breaking", "unready", "absent"]
    fine, careless = outcomes["exact"], outcomes["careless"]
    assert isinstance(fine, Measured) and fine.recall == 1.0 and fine.calls == 30
    assert 0 < fine.p50_us <= fine.p95_us <= fine.p99_us
    assert isinstance(careless, Measured) and careless.recall == 0.8
    reasons = {o.name: o.reason for o in outcomes.values() if isinstance(o, Missing)}
    assert reasons == {
        "breaking": "failed at call 12: ConnectionError: gone away",
        "unready": "OSError: no room",
        "absent": "ModuleNotFoundError: No module named 'absent'",
    }
    assert len(made) == 4 and all(peer.closed for peer in made)
    assert any(line.startswith("unready: left out: OSError: no room") for line in said)


def test_a_load_that_takes_too_long_is_ended() -> None:
    with pytest.raises(TimeoutError, match="within 1 s"), run.at_most(1):
        while True:
            pass


def test_every_adapter_is_where_the_table_says() -> None:
    for name, place in run.ADAPTERS.items():
        module, _, attribute = place.partition(":")
        source = Path(run.__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
        assert f"class {attribute}" in source, name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.milvus_server] if name == "milvus_server" else [])
        for name in run.ADAPTERS
    ],
)
def test_an_adapter_finds_the_users_nearest_that_are_not_deleted(name: str, tmp_path: Path) -> None:
    """Those whose libraries are here. The corpus is so small that nobody's approximation matters."""
    try:
        peer: Peer = run.adapter(name)()
    except ImportError as missing:
        pytest.skip(f"{missing}: see benchmarks/peers/requirements.txt")
    corpus = small()
    try:
        peer.load(corpus, tmp_path)
        for query in corpus.queries:
            answer = peer.search(query)
            found = [row for row, _, _ in answer]
            assert len(found) == TOP_K
            assert all(before - after >= -1e-5 for (_, before, _), (_, after, _) in pairwise(answer))
            if peer.kind != "reference":
                assert [text for _, _, text in answer] == [corpus.text(row) for row in found]
            assert set(found) == query.expected
            scores = corpus.vectors[found] @ query.vector
            assert np.all(np.diff(scores) <= 1e-5), "best first"
        assert peer.version() and peer.settings and peer.title
        assert peer.nbytes() >= corpus.vectors.nbytes * 0.8
    finally:
        peer.close()


def test_the_suite_shows_this_part_and_does_not_measure_it() -> None:
    assert "peers" not in suite.MEASURED_HERE
    shown = suite.markdown({"measured.peers": "then", **figures(OUTCOMES)})
    assert "`make bench-peers`: [tables, versions and settings](peers.md)" in shown
    assert "(`peers.best_service_over_memlane.p50`) | ≥ 5 | 6.000 | pass |" in shown


def test_measured_figures_of_approximate_ones_do_not_count() -> None:
    assert replace(seen("a", "engine", 1.0), recall=0.9999).exact is False
