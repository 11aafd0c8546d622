"""What is Milvus Lite's own: erasure down to the files, rewrites that crash, one owner, an engine that dies."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from memlane_core.adapters.milvus import MilvusStore, filters
from memlane_core.adapters.milvus.calls import Deadline, MilvusCalls
from memlane_core.adapters.milvus.catalog import Catalog, Settings
from memlane_core.adapters.milvus.gate import Gate
from memlane_core.adapters.milvus.rewrite import Rewriter
from memlane_core.adapters.milvus.schema import CollectionNames, from_columns, to_columns
from memlane_core.adapters.milvus_lite.host import LiteHost
from memlane_core.domain.errors import FailedPrecondition, StoreUnavailable
from memlane_core.ports.vector_store import StoredRow
from tests.contracts.vector_store_builders import DIMENSION, EMBEDDER, SECONDS, knowledge, row, same, unit

TENANT = "bank-a"
SECRETS = ("张三丰的白金卡尾号是七七三一", "Wolfeschlegel prefers the harbour branch", "余额提醒🙂每周二")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "own.db"


@pytest.fixture
def store(path: Path) -> Iterator[MilvusStore]:
    opened = open_store(path)
    yield opened
    opened.close()


def open_store(path: Path, **options: Any) -> MilvusStore:
    store = MilvusStore(str(path), dimension=DIMENSION, embedder_model=EMBEDDER, **options)
    store.open([TENANT])
    return store


def put(store: MilvusStore, *rows: StoredRow, **options: Any) -> None:
    store.upsert(TENANT, rows, timeout_seconds=SECONDS, **options)


def load(store: MilvusStore, user_id: str) -> dict[str, StoredRow]:
    return {
        found.memory.memory_id: found for found in store.load_user(TENANT, user_id, timeout_seconds=SECONDS)
    }


def held(path: Path, *texts: str) -> dict[str, list[str]]:
    """The files that hold each text: as bytes, or in a column, since data files are compressed."""
    places: dict[str, list[str]] = {}
    for file in sorted(path.rglob("*")):
        if not file.is_file():
            continue
        content = file.read_bytes()
        if content[:4] == b"PAR1":
            content += str(parquet.read_table(file).to_pydict()).encode()
        for text in texts:
            if text.encode() in content:
                places.setdefault(text, []).append(str(file.relative_to(path)))
    return places


class TestErasure:
    """Purge and compact leave the text in no file of the data directory."""

    @pytest.mark.parametrize("flushed", [False, True], ids=["in-the-log", "in-data-files"])
    def test_b29_no_file_holds_what_was_purged(self, path: Path, store: MilvusStore, flushed: bool) -> None:
        gone = [row("用户甲", text, metadata={"note": text}) for text in SECRETS]
        kept = [row("user-b", f"保留 kept {number}", seed=number) for number in range(700 if flushed else 20)]
        put(store, *gone, *kept)
        assert set(held(path, *SECRETS)) == set(SECRETS), "the search for texts finds nothing"
        put(store, *(replace(r, is_deleted=True) for r in gone))
        store.purge(TENANT, [r.memory.memory_id for r in gone], timeout_seconds=SECONDS)
        store.compact(TENANT, timeout_seconds=SECONDS)
        assert held(path, *SECRETS) == {}
        found = load(store, "user-b")
        assert len(found) == len(kept) and all(same(found[r.memory.memory_id], r) for r in kept)
        store.close()
        assert held(path, *SECRETS) == {}

    def test_overwritten_texts_and_withdrawn_knowledge_go_too(self, path: Path, store: MilvusStore) -> None:
        old, rule, told = SECRETS
        first = row("用户甲", old)
        second = replace(first, memory=replace(first.memory, content="新的内容", revision=2))
        fact = knowledge(rule, unit(1))
        emptied = replace(row("user-b", told), is_deleted=True)
        put(store, first, emptied)
        put(store, fact, knowledge=True)
        put(store, second, replace(emptied, memory=replace(emptied.memory, content="")))
        store.purge(TENANT, [fact.memory.memory_id], knowledge=True, timeout_seconds=SECONDS)
        assert set(held(path, *SECRETS)) == set(SECRETS)
        store.compact(TENANT, timeout_seconds=SECONDS)
        assert held(path, *SECRETS) == {}
        assert same(load(store, "用户甲")[first.memory.memory_id], second)

    def test_readers_and_writers_go_on_beside_it(self, store: MilvusStore) -> None:
        untouched = [row("user", f"第 {number} 条", seed=number) for number in range(50)]
        old = [row("writer", f"old {number}", seed=number) for number in range(1500)]
        put(store, *untouched, *old)
        expected = {r.memory.memory_id: r for r in old}
        done = threading.Event()
        seen: list[int] = []

        def read() -> None:
            while not done.is_set():
                seen.append(len(load(store, "user")))

        def write() -> None:
            """Adds, replaces and removes: each step is acknowledged before the next."""
            for number, victim in zip(itertools.count(), iter(old)):
                if done.is_set():
                    return
                added = row("writer", f"new {number}")
                replaced = replace(victim, memory=replace(victim.memory, content=f"changed {number}"))
                put(store, added, *([replaced] if number % 2 else []))
                expected[added.memory.memory_id] = added
                if number % 2:
                    expected[victim.memory.memory_id] = replaced
                else:
                    store.purge(TENANT, [victim.memory.memory_id], timeout_seconds=SECONDS)
                    del expected[victim.memory.memory_id]

        threads = [threading.Thread(target=work) for work in (read, write)]
        for thread in threads:
            thread.start()
        before = len(seen)
        for _ in range(3):
            store.compact(TENANT, timeout_seconds=SECONDS)
        during = len(seen) - before
        done.set()
        for thread in threads:
            thread.join(SECONDS)
        assert during > 3 and set(seen) == {50}
        found = load(store, "writer")
        assert set(found) == set(expected) and all(same(found[i], expected[i]) for i in expected)
        assert set(load(store, "user")) == {r.memory.memory_id for r in untouched}

    def test_what_was_compacted_and_not_changed_is_not_rewritten(
        self, path: Path, store: MilvusStore
    ) -> None:
        put(store, row("user"))
        store.compact(TENANT, timeout_seconds=SECONDS)
        before = {str(file): file.stat().st_ino for file in path.rglob("*.parquet")}
        store.compact(TENANT, timeout_seconds=SECONDS)
        assert before and {str(file): file.stat().st_ino for file in path.rglob("*.parquet")} == before


class FaultyCalls:
    """Calls of an engine that fail from a step on: before they reach it, or with their answer lost."""

    def __init__(self, calls: MilvusCalls) -> None:
        self._calls = calls
        self.index_params = calls.index_params
        self.read = calls.read
        self.fails_at = 0
        self.answer_lost = False
        self.for_good = False
        self._changes = 0

    def arm(self, step: int, *, answer_lost: bool, for_good: bool) -> None:
        """The `step`-th change from now fails, 1 = the next; 0 = none."""
        self.fails_at, self.answer_lost, self.for_good, self._changes = step, answer_lost, for_good, 0

    def __call__(self, method: str, /, *args: Any, **options: Any) -> Any:
        changes = method in CHANGES
        self._changes += changes
        due = self.fails_at and (
            (self._changes == self.fails_at and changes) or (self.for_good and self._changes >= self.fails_at)
        )
        if not due:
            return self._calls(method, *args, **options)
        if self.answer_lost and self._changes == self.fails_at and changes:
            self._calls(method, *args, **options)
        raise StoreUnavailable("injected")


CHANGES = frozenset(
    (
        "create_collection",
        "upsert",
        "delete",
        "flush",
        "rename_collection",
        "load_collection",
        "drop_collection",
    )
)
STEPS = 10
"""Changes that one rewrite makes; one more step does not exist (the first test says so)."""
SETTINGS = Settings(DIMENSION, EMBEDDER, "FLAT", {}, "Strong")


@dataclass
class Parts:
    """What a rewrite works with, for one process of ours after the other on one engine."""

    calls: FaultyCalls
    names: CollectionNames

    def restart(self) -> tuple[Catalog, Rewriter]:
        catalog = Catalog(self.calls, self.names, SETTINGS)  # type: ignore[arg-type]
        return catalog, Rewriter(self.calls, catalog, Gate(one_writer=True))  # type: ignore[arg-type]


@pytest.fixture(scope="class")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    with tempfile.TemporaryDirectory() as folder:  # the path of a socket must be short
        host = LiteHost(tmp_path_factory.mktemp("rewrite") / "r.db", Path(folder) / "s")
        calls = MilvusCalls(f"unix:{folder}/s", token=None, deadline=soon())
        yield Parts(FaultyCalls(calls), CollectionNames("r"))
        calls.close()
        host.close()


def soon() -> Deadline:
    return Deadline.after(SECONDS)


class TestInterruptedRewrite:
    """A rewrite that ends at any of its steps loses nothing, and the next one puts it right."""

    def test_the_steps_are_as_many_as_are_tried(self, parts: Parts) -> None:
        catalog, rewriter = parts.restart()
        name = filled(parts, catalog, "counted")
        parts.calls.arm(STEPS + 1, answer_lost=False, for_good=True)
        rewrite(rewriter, name)
        parts.calls.arm(STEPS, answer_lost=False, for_good=True)
        with pytest.raises(StoreUnavailable):
            rewrite(rewriter, name)
        parts.calls.arm(0, answer_lost=False, for_good=False)

    @pytest.mark.parametrize("answer_lost", [False, True], ids=["not-reached", "answer-lost"])
    @pytest.mark.parametrize("step", range(1, STEPS + 1))
    def test_a_process_that_died_is_followed_by_one_that_finds_everything(
        self, parts: Parts, step: int, answer_lost: bool
    ) -> None:
        catalog, rewriter = parts.restart()
        name = filled(parts, catalog, f"died{step}{answer_lost}")
        parts.calls.arm(step, answer_lost=answer_lost, for_good=True)
        with pytest.raises(StoreUnavailable):
            rewrite(rewriter, name)
        parts.calls.arm(0, answer_lost=False, for_good=False)
        catalog, rewriter = parts.restart()
        rewriter.recover(collections(parts, name), soon())
        assert whole(parts, catalog, name)

    @pytest.mark.parametrize("answer_lost", [False, True], ids=["not-reached", "answer-lost"])
    @pytest.mark.parametrize("step", range(1, STEPS + 1))
    def test_a_step_that_fails_once_leaves_a_collection_that_answers(
        self, parts: Parts, step: int, answer_lost: bool
    ) -> None:
        catalog, rewriter = parts.restart()
        name = filled(parts, catalog, f"once{step}{answer_lost}")
        parts.calls.arm(step, answer_lost=answer_lost, for_good=False)
        with pytest.raises(StoreUnavailable):
            rewrite(rewriter, name)
        parts.calls.arm(0, answer_lost=False, for_good=False)
        assert whole(parts, catalog, name), "readable without any further step"
        rewrite(rewriter, name)
        assert whole(parts, catalog, name) and collections(parts, name) == [name]

    def test_the_old_one_alone_is_put_back(self, parts: Parts) -> None:
        catalog, rewriter = parts.restart()
        name = filled(parts, catalog, "alone")
        parts.calls("rename_collection", name, name + "_old", deadline=soon())
        rewriter.recover(collections(parts, name), soon())
        assert whole(parts, parts.restart()[0], name)


def rewrite(rewriter: Rewriter, name: str) -> None:
    """With two rows that changed during the copy, one of which is no more."""
    rewriter.begin(name, soon())
    rewriter.copy(name, soon())
    rewriter.finish(name, ["m0", "purged"], soon())


def filled(parts: Parts, catalog: Catalog, tenant: str) -> str:
    name = catalog.ensure(tenant, knowledge=False, deadline=soon())
    rows = [to_columns(row("用户", f"第 {n} 条", memory_id=f"m{n}", seed=n), DIMENSION) for n in range(20)]
    parts.calls("upsert", name, rows, deadline=soon())
    return name


def whole(parts: Parts, catalog: Catalog, name: str) -> bool:
    catalog.load(name, soon())
    found = [from_columns(columns) for columns in catalog.rows(name, filters.ANYTHING, soon())]
    texts = {r.memory.memory_id: r.memory.content for r in found}
    return len(found) == 20 and texts == {f"m{n}": f"第 {n} 条" for n in range(20)}


def collections(parts: Parts, name: str) -> list[str]:
    return sorted(n for n in parts.calls("list_collections", deadline=soon()) if n.startswith(name))


HOLD = """
import sys
from memlane_core.adapters.milvus import MilvusStore
from memlane_core.domain.errors import MemlaneError
from tests.contracts.vector_store_builders import DIMENSION, EMBEDDER, row
store = MilvusStore(sys.argv[1], dimension=DIMENSION, embedder_model=EMBEDDER)
try:
    store.open(["bank-a"])
except MemlaneError as error:
    print(type(error).__name__, error, flush=True)
    sys.exit(3)
print("open", flush=True)
for number in range(10_000):
    store.upsert("bank-a", [row("用户", f"第 {number} 条", memory_id=f"m{number}")], timeout_seconds=30)
    print(number, flush=True)
"""


def holder(path: Path) -> "subprocess.Popen[str]":
    root = Path(__file__).resolve().parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True, cwd=root
    )


def engine_pid(path: Path) -> int | None:
    """The process that hosts the engine of this data."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                arguments = (entry / "cmdline").read_bytes().split(b"\0")
                if str(path).encode() in arguments and b"-m" in arguments:
                    return int(entry.name)
    return None


def eventually(condition: Callable[[], bool], *, within_seconds: float) -> float:
    """Seconds until it holds; fails the test when it does not."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < within_seconds
        time.sleep(0.02)
    return time.monotonic() - began


class TestOwner:
    """B41: one process owns the data; what it was told is written survives it."""

    def test_a_second_process_is_refused_in_time_and_touches_nothing(
        self, path: Path, store: MilvusStore
    ) -> None:
        put(store, row("user"))
        before = {str(f): f.stat().st_mtime_ns for f in path.rglob("*") if f.is_file()}
        began = time.monotonic()
        second = holder(path)
        said, _ = second.communicate(timeout=60)
        assert second.returncode == 3 and said.startswith("FailedPrecondition data file in use")
        assert time.monotonic() - began < 10 + 5, "the interpreter's own start included"
        assert {str(f): f.stat().st_mtime_ns for f in path.rglob("*") if f.is_file()} == before
        assert len(load(store, "user")) == 1

    def test_a_second_store_in_one_process_is_refused_too(self, path: Path, store: MilvusStore) -> None:
        began = time.monotonic()
        with pytest.raises(FailedPrecondition, match="data file in use"):
            open_store(path)
        assert time.monotonic() - began < 10

    def test_after_kill_9_the_data_is_free_and_whole(self, path: Path) -> None:
        first = holder(path)
        assert first.stdout is not None and first.stdout.readline() == "open\n"
        told = [int(first.stdout.readline()) for _ in range(50)]
        first.kill()
        told.extend(int(line) for line in first.stdout.read().splitlines() if line)
        first.wait()
        first.stdout.close()
        store = open_store(path)
        found = load(store, "用户")
        store.close()
        assert {f"m{number}" for number in told} <= set(found)
        eventually(lambda: engine_pid(path) is None, within_seconds=10)


class TestEngineThatDies:
    """B40: while it is away calls fail at once, and it is back within seconds without a restart of ours."""

    def test_it_is_started_again_with_every_acknowledged_row(self, path: Path, store: MilvusStore) -> None:
        rows = [row("用户", f"第 {n} 条", seed=n) for n in range(50)]
        put(store, *rows)
        engine = engine_pid(path)
        assert engine is not None
        os.kill(engine, signal.SIGKILL)

        def back() -> bool:
            began = time.monotonic()
            try:
                store.ping(timeout_seconds=1.0)
            except StoreUnavailable:
                assert time.monotonic() - began < 2
                return False
            return engine_pid(path) not in (engine, None)

        assert eventually(back, within_seconds=20) < 20
        assert set(load(store, "用户")) == {r.memory.memory_id for r in rows}
        put(store, row("用户"))
        assert len(load(store, "用户")) == 51

    def test_a_rewrite_that_it_dies_in_loses_nothing(self, path: Path, store: MilvusStore) -> None:
        rows = [row("用户", f"第 {n} 条", seed=n) for n in range(300)]
        put(store, *rows)
        for _ in range(3):
            kill_engine_within_a_rewrite(store, path)
            assert set(load(store, "用户")) == {r.memory.memory_id for r in rows}
        store.purge(TENANT, ["never-was"], timeout_seconds=SECONDS)
        store.compact(TENANT, timeout_seconds=SECONDS)
        assert set(load(store, "用户")) == {r.memory.memory_id for r in rows}
        assert len(list((path / "collections").iterdir())) == 2


def kill_engine_within_a_rewrite(store: MilvusStore, path: Path) -> None:
    """Returns when the store answers again."""
    engine = engine_pid(path)
    assert engine is not None
    store.purge(TENANT, ["never-was"], timeout_seconds=SECONDS)
    failed: list[StoreUnavailable] = []

    def compact() -> None:
        try:
            store.compact(TENANT, timeout_seconds=SECONDS)
        except StoreUnavailable as error:
            failed.append(error)

    thread = threading.Thread(target=compact)
    thread.start()
    folders = path / "collections"
    eventually(lambda: any(f.name.endswith("_rewrite") for f in folders.iterdir()), within_seconds=SECONDS)
    os.kill(engine, signal.SIGKILL)
    thread.join(2 * SECONDS)
    assert failed
    eventually(lambda: answers(store) and engine_pid(path) != engine, within_seconds=20)


def answers(store: MilvusStore) -> bool:
    try:
        store.ping(timeout_seconds=1.0)
    except StoreUnavailable:
        return False
    return True


def test_a_path_needs_no_ending(tmp_path: Path) -> None:
    store = open_store(tmp_path / "data" / "memories")
    put(store, row("user"))
    assert len(load(store, "user")) == 1
    assert store.describe()["address"] == str(tmp_path / "data" / "memories")
    store.close()


def test_a_collection_without_its_index_is_completed(path: Path) -> None:
    """What a process leaves that died between the calls of a creation."""
    store = open_store(path)
    put(store, row("user"))
    store.close()
    folder = path.parent
    host = LiteHost(path, folder / "s")
    calls = MilvusCalls(f"unix:{folder / 's'}", token=None, deadline=soon())
    [name] = [n for n in calls("list_collections", deadline=soon()) if n.endswith("_memories")]
    calls("release_collection", name, deadline=soon())
    calls("drop_index", name, "embedding", deadline=soon())
    calls.close()
    host.close()
    store = open_store(path)
    assert len(load(store, "user")) == 1
    store.close()
