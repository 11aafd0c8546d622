"""One block: what a version shows, and that a version never changes."""

import numpy as np
import pytest

from memlane_core.index import Block, Hit, SearchQuery, search_many
from memlane_core.lexical import query_tokens
from memlane_core.ports.vector_store import StoredRow

from .rows import DIMENSION, RECORDS, FailingRecords, row, unit


def build(*rows, position: int = 1) -> Block:  # type: ignore[no-untyped-def]
    return Block.build(DIMENSION, rows, position, RECORDS)


def ids(hits: list[Hit]) -> list[str]:
    return [h.memory.memory_id for h in hits]


def plain(hits: list[Hit]) -> list[tuple[object, ...]]:
    """Without the block that they come from."""
    return [(h.memory, h.record, h.score, h.cosine, h.lexical) for h in hits]


def ask(
    text: str | None = None, *, seed: int = 0, top_k: int = 5, now: float = 0.0, **options: object
) -> SearchQuery:
    return SearchQuery(unit(seed), query_tokens(text) if text else None, top_k, now, **options)  # type: ignore[arg-type]


def contents(block: Block) -> dict[str, str]:
    return {m.memory_id: m.content for m in block.live(0)}


def test_an_empty_block_answers_nothing() -> None:
    block = build()
    assert block.search(ask("anything")) == []
    assert block.live(0) == []
    assert block.nearest(unit(1), 5, 0) == []
    assert block.find("a", 0) is None
    assert len(block) == 0
    assert block.search(ask(metadata={"k": "v"})) == []


def test_hits_carry_memory_record_and_scores() -> None:
    block = build(row("a", seed=1), row("b", seed=2))
    [best, other] = block.search(ask(seed=1))
    assert best.memory.memory_id == "a"
    assert best.record == RECORDS.encode(row("a", seed=1).memory)
    assert best.cosine == pytest.approx(1.0, abs=1e-6)
    assert best.score == best.cosine
    assert other.cosine == pytest.approx(float(unit(1) @ unit(2)), abs=1e-6)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("FWD-2213那笔哪天到期", "b"),
        ("what is fwd 2213 about", "b"),
        ("２２３１", "a"),
        ("花生", "c"),
        ("認証方式", "d"),
        ("the customer prefers phone", "e"),
        ("客户", "e"),
        ("二百万", "f"),
    ],
)
def test_words_find_what_the_vector_does_not(text: str, wanted: str) -> None:
    block = build(
        row("a", "公司持有远期结汇合约FWD-2231，金额100万美元", created_at=0),
        row("b", "公司持有远期结汇合约FWD-2213，金额150万美元", created_at=10_000),
        row("c", "我对花生过敏", created_at=20_000),
        row("d", "認証方式を変更した", created_at=30_000),
        row("e", "This client likes to be called", created_at=40_000),
        row("f", "单笔付款超过200万元需董事长签字", created_at=50_000),
        *(row(f"z{i}", f"无关的事情{i}", created_at=60_000 + 10_000 * i) for i in range(20)),
    )
    silent = SearchQuery(np.zeros(DIMENSION, np.float32), query_tokens(text), 5, 0.0)
    assert block.search(silent)[0].memory.memory_id == wanted


def test_filters_apply_before_the_best_are_taken() -> None:
    block = build(
        *(row(f"old{i}", seed=1, created_at=10, metadata={"kind": "x"}) for i in range(30)),
        row("new", seed=2, created_at=20, metadata={"kind": "y", "branch": "7"}),
        row("gone", seed=1, created_at=20, expires_at=100),
    )
    assert ids(block.search(ask(seed=1, created_after=20, now=100))) == ["new"]
    assert "new" not in ids(block.search(ask(seed=1, created_before=20, top_k=40)))
    assert ids(block.search(ask(seed=1, metadata={"kind": "y"}))) == ["new"]
    assert ids(block.search(ask(seed=1, metadata={"kind": "y", "branch": "7"}))) == ["new"]
    assert ids(block.search(ask(seed=1, metadata={"kind": "x", "branch": "7"}))) == []
    assert ids(block.search(ask(seed=1, metadata={"kind": "unheard of"}))) == []
    assert len(block.search(ask(seed=1, min_score=0.99, top_k=40))) == 31


def test_expiry_hides_in_every_read() -> None:
    block = build(row("a", expires_at=10), row("b"))
    for now, visible in ((9.999, {"a", "b"}), (10.0, {"b"})):
        assert {m.memory_id for m in block.live(now)} == visible
        assert set(ids(block.search(ask(now=now)))) == visible
        assert {m.memory_id for m, _ in block.nearest(unit(3), 5, now)} == visible
        assert (block.find("a", now) is not None) == ("a" in visible)
    assert len(block) == 2


def test_live_is_newest_first() -> None:
    block = build(
        row("a", created_at=1, position=5),
        row("b", created_at=2, position=4),
        row("c", created_at=2, position=6),
    )
    assert [m.memory_id for m in block.live(0)] == ["c", "b", "a"]


def test_a_version_never_changes() -> None:
    first = build(row("a", "old a"), row("b", "old b"))
    before = first.search(ask("old", seed=3))
    second = first.changed([row("a", "new a", position=2), row("c", "new c", position=3)], ["b"], 3)
    third = second.changed([row("b", "back b", position=4)], ["a"], 4)
    assert contents(first) == {"a": "old a", "b": "old b"}
    assert contents(second) == {"a": "new a", "c": "new c"}
    assert contents(third) == {"c": "new c", "b": "back b"}
    assert first.search(ask("old", seed=3)) == before
    assert [b.position for b in (first, second, third)] == [1, 3, 4]
    for block, wanted in ((first, "old a"), (second, "new a"), (third, None)):
        found = block.find("a", 0)
        assert (found.content if found else None) == wanted
    with pytest.raises(KeyError):
        third.vector("a")
    assert np.array_equal(second.vector("c"), row("c").embedding)


def test_a_failing_record_leaves_the_block_as_it_was() -> None:
    block = Block.build(DIMENSION, [row("a")], 1, FailingRecords())
    with pytest.raises(ValueError, match="no record"):
        block.changed([row("b"), row("x", "bad")], ["a"], 2)
    after = block.changed([row("c")], [], 2)
    assert sorted(contents(after)) == ["a", "c"]
    assert set(ids(after.search(ask()))) == {"a", "c"}


def test_a_write_that_fails_halfway_leaves_the_block_as_it_was() -> None:
    block = build(row("a"))
    unusable = StoredRow(row("c").memory, np.full(DIMENSION, "x"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="could not convert"):
        block.changed([row("b"), unusable], [], 2)
    assert block.find("b", 0) is None
    after = block.changed([row("d", seed=5)], [], 3)
    assert sorted(contents(after)) == ["a", "d"]
    assert [after.find(i, 0) is not None for i in "abcd"] == [True, False, False, True]
    best = after.search(ask(seed=5))[0]
    assert (best.memory.memory_id, best.record) == ("d", RECORDS.encode(row("d").memory))


def test_an_embedding_of_another_dimension_is_refused() -> None:
    block = build(row("a"))
    with pytest.raises(ValueError, match="embedding of shape"):
        block.changed([StoredRow(row("b").memory, unit(1, 8))], [], 2)
    assert sorted(contents(block)) == ["a"]


@pytest.mark.parametrize("seed", range(6))
def test_scores_do_not_depend_on_how_the_block_came_about(seed: int) -> None:
    """After any history of writes the answers are, to the bit, those of a block built afresh from the same rows."""
    rng = np.random.default_rng(seed)
    words = "loan rate euro hedge 贷款 利率 欧元 对冲 branch visit".split()
    current = {}
    block = build()
    position = 0
    for _ in range(60):
        upserts, deletes = [], []
        for _ in range(int(rng.integers(1, 6))):
            position += 1
            memory_id = f"m{rng.integers(0, 90)}"
            if memory_id in current and rng.random() < 0.4:
                deletes.append(memory_id)
                del current[memory_id]
                upserts = [u for u in upserts if u.memory.memory_id != memory_id]
            else:
                changed = row(
                    memory_id,
                    " ".join(rng.choice(words, 6)),
                    seed=int(rng.integers(0, 50)),
                    created_at=int(rng.integers(0, 5_000)),
                    position=position,
                    expires_at=int(rng.choice([50, 150])) if rng.random() < 0.3 else None,
                    metadata={"n": str(rng.integers(0, 3))},
                )
                upserts.append(changed)
                deletes = [d for d in deletes if d != memory_id]
                current[memory_id] = changed
        block = block.changed(upserts, deletes, position)
        fresh = build(*current.values(), position=position)
        assert len(block) == len(fresh) == len(current)
        for query in (
            ask("贷款 loan rate", seed=seed, now=100, top_k=9),
            ask(seed=seed, now=0, top_k=4, metadata={"n": "1"}),
        ):
            assert plain(block.search(query)) == plain(fresh.search(query))
        assert block.live(100) == fresh.live(100)


def test_many_updates_of_one_memory_do_not_pile_up() -> None:
    block = build(*(row(f"m{i}") for i in range(20)))
    for n in range(2_000):
        block = block.changed([row("m0", f"text {n}", position=n + 2)], [], n + 2)
    assert len(block) == 20
    assert block.nbytes < 3 * build(*(row(f"m{i}") for i in range(40))).nbytes
    assert block.find("m0", 0).content == "text 1999"  # type: ignore[union-attr]


def test_memories_recorded_in_one_go_lend_each_other_words() -> None:
    others = [row(f"z{i}", f"other fact {i}", seed=100 + i, created_at=i * 100_000) for i in range(12)]
    together = build(
        row("a", "The loan SL-1190 floats", seed=1, created_at=5_000_000),
        row("b", "A cap was bought for half", seed=2, created_at=5_000_060),
        *others,
    )
    apart = build(
        row("a", "The loan SL-1190 floats", seed=1, created_at=5_000_000),
        row("b", "A cap was bought for half", seed=2, created_at=5_001_000),
        *others,
    )
    lent = {h.memory.memory_id: h.lexical for h in together.search(ask("SL-1190", seed=9, top_k=20))}
    alone = {h.memory.memory_id: h.lexical for h in apart.search(ask("SL-1190", seed=9, top_k=20))}
    assert lent["b"] > 0.04
    assert alone["b"] == 0
    assert lent["a"] > lent["b"]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("财务经理是谁", "earlier"),
        ("现在财务经理是谁", "later"),
        ("Who is the finance manager?", "earlier"),
        ("Who is the finance manager at the moment?", "later"),
    ],
)
def test_a_question_about_now_prefers_what_was_stated_last(question: str, first: str) -> None:
    block = build(
        row("earlier", "财务经理是苗佳 finance manager", created_at=0),
        row("later", "财务经理是邱岳了 finance manager", created_at=90_000_000),
        row("aside", "无关", created_at=45_000_000),
    )
    query = SearchQuery(np.zeros(DIMENSION, np.float32), query_tokens(question), 2, 0.0)
    assert ids(block.search(query))[0] == first


def test_search_many_answers_in_order() -> None:
    blocks = [build(*(row(f"{b}-{i}", seed=b * 40 + i) for i in range(30))) for b in range(3)]
    pairs = [(blocks[n % 3], ask("memory" if n % 2 else None, seed=n, top_k=1 + n % 4)) for n in range(20)]
    assert search_many(pairs) == [block.search(query) for block, query in pairs]
    assert search_many([]) == []
