"""Residency: budget, accounting, loads that meet writes, threads."""

import threading
import tracemalloc
from itertools import permutations

import pytest

from memlane_core.index import SearchQuery, UserIndex

from .rows import DIMENSION, RECORDS, FailingRecords, row, unit

BIG = 1 << 40


def index_of(budget: int = BIG) -> UserIndex:
    return UserIndex(DIMENSION, budget, RECORDS)


def texts(index: UserIndex, user: str = "u", tenant: str = "t") -> dict[str, str] | None:
    block = index.get(tenant, user)
    return None if block is None else {m.memory_id: m.content for m in block.live(0)}


def test_a_user_is_resident_under_tenant_and_id() -> None:
    index = index_of()
    index.put_user("t", "u", [row("a")], 1)
    assert texts(index) == {"a": "memory a"}
    assert index.get("t2", "u") is None
    assert index.get("t", "U") is None
    stats = index.stats()
    assert (stats.users, stats.rows, stats.hits, stats.misses) == (1, 1, 1, 2)


def test_a_change_of_a_user_who_is_not_resident_does_nothing() -> None:
    index = index_of()
    index.apply("t", "u", [row("a")], [], 1)
    assert index.get("t", "u") is None
    assert index.stats().bytes == 0


def test_the_least_recently_used_goes_first() -> None:
    one = index_of()
    one.put_user("t", "x", [row("a")], 1)
    size = one.stats().bytes
    index = index_of(3 * size + size // 2)
    for user in ("a", "b", "c"):
        index.put_user("t", user, [row("a")], 1)
    index.get("t", "a")
    index.put_user("t", "d", [row("a")], 1)
    assert [user for user in "abcd" if index.get("t", user)] == ["a", "c", "d"]
    stats = index.stats()
    assert (stats.evictions, stats.users, stats.bytes) == (1, 3, 3 * size)


def test_a_user_larger_than_the_budget_is_served_alone() -> None:
    index = index_of(10)
    index.put_user("t", "small", [row("a")], 1)
    block = index.put_user("t", "large", [row(f"m{i}") for i in range(50)], 1)
    assert len(block.search(SearchQuery(unit(1), None, 50, 0.0))) == 50
    assert index.get("t", "large") is block
    assert index.get("t", "small") is None
    index.apply("t", "large", [row("m0", "changed", position=2)], [], 2)
    assert texts(index, "large")["m0"] == "changed"  # type: ignore[index]


def test_an_older_read_does_not_replace_a_newer_block() -> None:
    index = index_of()
    index.put_user("t", "u", [row("a", "old")], 5)
    index.apply("t", "u", [row("a", "new", position=6)], [], 6)
    assert index.put_user("t", "u", [row("a", "old")], 5).position == 6
    assert texts(index) == {"a": "new"}
    index.put_user("t", "u", [row("a", "newest", position=7)], 7)
    assert texts(index) == {"a": "newest"}


def test_a_change_that_fails_makes_the_user_cold_instead_of_stale() -> None:
    index = UserIndex(DIMENSION, BIG, FailingRecords())
    index.put_user("t", "u", [row("a")], 1)
    with pytest.raises(ValueError, match="no record"):
        index.apply("t", "u", [row("a", "bad", position=2)], [], 2)
    assert index.get("t", "u") is None
    assert index.stats().bytes == 0


READ, WRITE, FINISH = "read", "write", "finish"


@pytest.mark.parametrize(
    "order", [o for o in permutations((READ, WRITE, FINISH)) if o.index(READ) < o.index(FINISH)]
)
@pytest.mark.parametrize("change", ["update", "delete", "add"])
def test_a_write_during_a_load_is_not_lost(order: tuple[str, ...], change: str) -> None:
    """Whether the load read the rows before or after the write reached the store."""
    index = index_of()
    store = {"a": row("a", "first", position=1)}
    wanted = {"update": {"a": "second"}, "delete": {}, "add": {"a": "first", "b": "added"}}[change]
    read: list = []
    with index.loading("t", "u") as load:
        for step in order:
            if step == READ:
                read = list(store.values())
            elif step == WRITE:
                if change == "delete":
                    del store["a"]
                    index.apply("t", "u", [], ["a"], 2)
                else:
                    new = row("b", "added", position=2) if change == "add" else row("a", "second", position=2)
                    store[new.memory.memory_id] = new
                    index.apply("t", "u", [new], [], 2)
            else:
                load.finish(read, 1)
    assert texts(index) == wanted
    assert index.get("t", "u").position == 2  # type: ignore[union-attr]


def test_a_load_that_read_a_later_state_keeps_it() -> None:
    index = index_of()
    with index.loading("t", "u") as load:
        index.apply("t", "u", [row("a", "second", position=2)], [], 2)
        index.apply("t", "u", [], ["b"], 3)
        load.finish([row("a", "fourth", position=4), row("b", "again", position=5)], 5)
    assert texts(index) == {"a": "fourth", "b": "again"}


def test_a_drop_during_a_load_makes_it_start_again() -> None:
    index = index_of()
    with index.loading("t", "u") as load:
        index.drop("t", "u")
        assert load.finish([row("a")], 1) is None
    assert index.get("t", "u") is None
    with index.loading("t", "u") as load:
        assert load.finish([], 2) is not None
    assert texts(index) == {}


def test_a_load_that_fails_leaves_nothing_behind() -> None:
    index = index_of()
    with pytest.raises(OSError, match="store"), index.loading("t", "u"):
        raise OSError("store")
    index.apply("t", "u", [row("a")], [], 1)
    assert index.get("t", "u") is None
    assert index._loads == {}


def test_readers_never_see_half_a_write() -> None:
    """Each write replaces every memory by the next generation; a reader must find all of one generation."""
    index = index_of()
    size, generations = 40, 60

    def rows(generation: int) -> list:
        return [row(f"m{i}", f"generation {generation}", position=generation, seed=i) for i in range(size)]

    index.put_user("t", "u", rows(1), 1)
    torn: list[object] = []
    seen: set[str] = set()
    done = threading.Event()

    def read() -> None:
        query = SearchQuery(unit(1), None, size, 0.0)
        while not done.is_set():
            block = index.get("t", "u")
            assert block is not None
            found = {h.memory.content for h in block.search(query)} | {m.content for m in block.live(0)}
            one = block.find("m7", 0)
            found.add(one.content if one else "missing")
            if len(found) != 1 or len(block.search(query)) != size:
                torn.append(found)
            seen.update(found)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for generation in range(2, generations):
        index.apply("t", "u", rows(generation), [], generation)
    done.set()
    for reader in readers:
        reader.join()
    assert torn == []
    assert texts(index) == {f"m{i}": f"generation {generations - 1}" for i in range(size)}


def test_writers_of_one_user_in_many_threads_lose_nothing() -> None:
    index = index_of()
    index.put_user("t", "u", [], 0)

    def write(writer: int) -> None:
        for n in range(60):
            index.apply(
                "t", "u", [row(f"{writer}-{n}", position=writer * 100 + n + 1)], [], writer * 100 + n + 1
            )

    writers = [threading.Thread(target=write, args=(w,)) for w in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(texts(index) or {}) == 240
    assert index.stats().rows == 240


def test_what_is_accounted_is_about_what_is_used() -> None:
    tracemalloc.start()
    index = index_of()
    before = tracemalloc.get_traced_memory()[0]
    for user in range(6):
        index.put_user(
            "t",
            f"u{user}",
            [
                row(f"{user}-{i}", f"用户{user}在第{i}天说的一件事 about branch {i}", position=i)
                for i in range(200)
            ],
            1,
        )
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 0.9 < index.stats().bytes / used < 1.1
