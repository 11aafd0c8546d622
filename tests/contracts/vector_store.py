"""What every engine behind the VectorStore port must do.

The engine's own test gives the fixtures `shared` and `open_store`.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memlane_core.domain.errors import InvalidArgument, StoreMismatch, StoreUnavailable
from memlane_core.domain.limits import MAX_CONTENT_BYTES, MAX_METADATA_BYTES, MAX_USER_ID_BYTES
from memlane_core.ports.vector_store import KnowledgeQuery

from .vector_store_builders import (
    DIMENSION,
    EMBEDDER,
    SECONDS,
    OpenStore,
    Shared,
    fresh,
    knowledge,
    row,
    same,
    unit,
)

HOSTILE_IDS = [
    'o"brien', "o'brien", '张"三', "CORP\\alice", "a\\b", "a\nb", "a\r\nb", "a\tb", '\\"', "\\", '"',
    'x" || user_id != "y', '") or true or ("', 'x"] or user_id not in ["y', "%", "_", "*", " ", " alice", "alice ",
    "\\u0041", "A\x00B", "😀", "ＡＢＣ", "é", "e\u0301", "\u2028", "\ufeffa", "{u}", "$meta", "null", "张三" * 10,
]  # fmt: skip
"""B21, and what else has confused parsers. Equality is byte equality: no trimming, folding or normalising."""

NOW = 1_750_000_000

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: len(text.encode()) <= MAX_USER_ID_BYTES
)


class RowContract:
    """Writing, reading, soft deletion, removal."""

    def test_a_row_comes_back_as_it_was_written(self, shared: Shared) -> None:
        user = fresh("user")
        written = [
            row(
                user,
                '我上个月搬到深圳了 🏠 "quoted" \\ back\nline',
                metadata={"来源": '对话 "a"\\b\n', "": "\x01", "k": ""},
                created_at=NOW,
                updated_at=NOW + 1,
                expires_at=NOW + 60,
                revision=3,
                position=2**40,
            ),
            row(user, "I live in Shanghai", seed=1),
            row(user, "", seed=2),
        ]
        shared.put(*written)
        found = shared.load(user)
        assert len(found) == 3
        assert all(same(found[r.memory.memory_id], r) for r in written)
        assert found[written[0].memory.memory_id].embedding.flags.c_contiguous
        assert all(same(r, found[r.memory.memory_id]) for r in shared.get(*found).values())

    def test_upsert_replaces_the_whole_row_and_repeats_safely(self, shared: Shared) -> None:
        user = fresh("user")
        old = row(user, "我住在上海", metadata={"city": "上海"}, expires_at=NOW)
        new = replace(
            row(user, "我搬到深圳了", memory_id=old.memory.memory_id, seed=5),
            memory=replace(old.memory, revision=2),
        )
        new = replace(new, memory=replace(new.memory, content="我搬到深圳了", metadata={}, expires_at=None))
        for written in (old, new, new):
            shared.put(written)
            assert same(shared.load(user)[old.memory.memory_id], written)
            assert shared.count(user) == 1

    def test_several_states_of_one_row_in_one_call_leave_the_last(self, shared: Shared) -> None:
        user = fresh("user")
        first = row(user, "first")
        last = replace(first, memory=replace(first.memory, content="last", revision=2))
        shared.put(first, last)
        assert [r.memory.content for r in shared.load(user).values()] == ["last"]
        assert shared.count(user) == 1

    def test_a_soft_deleted_row_is_hidden_from_loads_only(self, shared: Shared) -> None:
        user = fresh("user")
        kept, deleted = row(user, "kept"), row(user, "deleted")
        shared.put(kept, deleted)
        shared.put(replace(deleted, is_deleted=True))
        assert list(shared.load(user)) == [kept.memory.memory_id]
        assert shared.get(deleted.memory.memory_id)[deleted.memory.memory_id].is_deleted
        assert shared.count(user) == 2

    def test_every_write_is_seen_at_once(self, shared: Shared) -> None:
        user = fresh("user")
        for number in range(20):
            written = row(user, f"第 {number} 条")
            memory_id = written.memory.memory_id
            shared.put(written)
            assert memory_id in shared.load(user)
            shared.put(replace(written, is_deleted=True))
            assert memory_id not in shared.load(user)
            shared.purge(memory_id)
            assert shared.get(memory_id) == {} and shared.count(user) == 0

    def test_expired_rows_are_the_callers_to_judge(self, shared: Shared) -> None:
        user = fresh("user")
        shared.put(row(user, expires_at=1), row(user, expires_at=0))
        assert {r.memory.expires_at for r in shared.load(user).values()} == {0, 1}

    def test_purge_removes_these_rows_and_no_other(self, shared: Shared) -> None:
        user, bystander = fresh("user"), fresh("user")
        gone, left, other = row(user), row(user, seed=1), row(bystander, seed=2)
        shared.put(gone, left, other)
        shared.purge(gone.memory.memory_id, "never-was", gone.memory.memory_id)
        shared.purge()
        assert shared.get(gone.memory.memory_id) == {}
        assert same(shared.load(user)[left.memory.memory_id], left) and shared.count(user) == 1
        assert same(shared.load(bystander)[other.memory.memory_id], other)

    def test_a_purged_id_can_be_written_again(self, shared: Shared) -> None:
        user = fresh("user")
        first = row(user, "before")
        shared.put(first)
        shared.purge(first.memory.memory_id)
        again = replace(first, memory=replace(first.memory, content="after"))
        shared.put(again)
        assert same(shared.load(user)[first.memory.memory_id], again) and shared.count(user) == 1

    def test_compaction_keeps_what_is_there_and_revives_nothing(self, shared: Shared) -> None:
        user = fresh("user")
        rows = [row(user, f"fact {number}", seed=number) for number in range(10)]
        shared.put(*rows)
        shared.purge(*(r.memory.memory_id for r in rows[:5]))
        shared.put(replace(rows[5], is_deleted=True))
        for _ in range(2):
            shared.store.compact(shared.tenant, timeout_seconds=60)
            assert list(shared.load(user)) and shared.count(user) == 5
            found = shared.load(user)
            assert set(found) == {r.memory.memory_id for r in rows[6:]}
            assert all(same(found[r.memory.memory_id], r) for r in rows[6:])
        shared.put(rows[0])
        assert rows[0].memory.memory_id in shared.load(user)

    def test_a_user_beyond_the_engines_page_is_read_whole(self, shared: Shared) -> None:
        user, deleted = fresh("big"), fresh("big")
        rows = [row(user, f"m {number}", seed=number % 7) for number in range(17_000)]
        shared.put(*rows, row(deleted, is_deleted=True))
        found = shared.load(user)
        assert set(found) == {r.memory.memory_id for r in rows}
        assert all(same(found[r.memory.memory_id], r) for r in rows[:: len(rows) // 50])
        batches = list(shared.store.scan(shared.tenant, batch_rows=1000, timeout_seconds=120))
        assert max(map(len, batches)) <= 1000
        scanned = [r.memory.memory_id for batch in batches for r in batch]
        assert len(scanned) == len(set(scanned)) and set(found) <= set(scanned)
        assert not any(r.is_deleted for batch in batches for r in batch)
        shared.purge(*found)
        assert shared.count(user) == 0

    def test_parallel_writers_lose_nothing(self, shared: Shared) -> None:
        users = [fresh("user") for _ in range(8)]
        start = threading.Barrier(len(users))

        def write(user: str) -> None:
            start.wait(10)
            for number in range(10):
                shared.put(row(user, f"{number}"))
                assert len(shared.load(user)) == number + 1

        with ThreadPoolExecutor(len(users)) as pool:
            list(pool.map(write, users))
        assert [shared.count(user) for user in users] == [10] * len(users)


class IsolationContract:
    """No reader gets another user's or tenant's rows, whatever the ids look like."""

    def test_b25_equal_texts_of_two_users_are_two_rows(self, shared: Shared) -> None:
        one, two = fresh("user"), fresh("user")
        mine, theirs = row(one), row(two)
        shared.put(mine, theirs)
        shared.purge(mine.memory.memory_id)
        assert shared.load(one) == {}
        assert same(shared.load(two)[theirs.memory.memory_id], theirs)

    def test_b21_hostile_user_ids_reach_their_own_rows_only(self, shared: Shared) -> None:
        rows = {user: row(user, f"of {user}") for user in HOSTILE_IDS}
        bystander = row(fresh("user"))
        shared.put(*rows.values(), bystander)
        for user, written in rows.items():
            found = shared.load(user)
            assert list(found) == [written.memory.memory_id], user
            assert same(found[written.memory.memory_id], written)
            assert shared.count(user) == 1
        for user, written in rows.items():
            shared.put(replace(written, is_deleted=True))
            assert shared.load(user) == {}
        assert same(shared.load(bystander.memory.user_id)[bystander.memory.memory_id], bystander)
        shared.purge(*(r.memory.memory_id for r in rows.values()))
        assert sum(shared.count(user) for user in rows) == 0

    def test_b21_hostile_memory_ids_name_their_own_row_only(self, shared: Shared) -> None:
        user = fresh("user")
        ids = [f"{hostile[:20]}{number}" for number, hostile in enumerate(HOSTILE_IDS)]
        rows = {memory_id: row(user, memory_id=memory_id) for memory_id in ids}
        bystander = row(user)
        shared.put(*rows.values(), bystander)
        assert set(shared.get(*ids)) == set(ids)
        for memory_id, written in rows.items():
            assert same(shared.get(memory_id)[memory_id], written)
        for attack in ("x'] or memory_id not in ['y", 'x"] or memory_id not in ["y', '" or memory_id != "'):
            assert shared.get(attack) == {}
            shared.purge(attack)
        assert shared.count(user) == len(ids) + 1
        shared.purge(*ids)
        assert list(shared.load(user)) == [bystander.memory.memory_id]

    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(user=texts, other=texts, memory_suffix=texts.map(lambda text: text[:10]))
    def test_any_user_id_is_matched_byte_for_byte(
        self, shared: Shared, user: str, other: str, memory_suffix: str
    ) -> None:
        mine = row(user, memory_id=f"{fresh('p')}{memory_suffix}")
        theirs = row(other, memory_id=f"{fresh('p')}{memory_suffix}")
        shared.put(mine, theirs)
        expected = {r.memory.memory_id for r in (mine, theirs) if r.memory.user_id == user}
        assert set(shared.load(user)) == expected
        assert shared.count(user) == len(expected)
        shared.purge(mine.memory.memory_id, theirs.memory.memory_id)
        assert shared.get(mine.memory.memory_id, theirs.memory.memory_id) == {}

    def test_text_that_is_not_unicode_is_refused_by_name(self, shared: Shared) -> None:
        with pytest.raises(InvalidArgument) as raised:
            shared.load("\ud800")
        assert raised.value.violations[0].field == "user_id"

    def test_tenants_and_knowledge_are_apart(self, shared: Shared) -> None:
        user = fresh("user")
        mine = row(user)
        shared.put(mine)
        shared.put(knowledge("年费规则", unit(3)), knowledge=True)
        elsewhere = replace(mine, memory=replace(mine.memory, content="other tenant"))
        shared.store.upsert(shared.other_tenant, [elsewhere], timeout_seconds=SECONDS)
        assert same(shared.load(user)[mine.memory.memory_id], mine)
        shared.store.purge(shared.other_tenant, [mine.memory.memory_id], timeout_seconds=SECONDS)
        assert same(shared.load(user)[mine.memory.memory_id], mine)
        assert (
            shared.store.get(shared.tenant, [mine.memory.memory_id], knowledge=True, timeout_seconds=SECONDS)
            == []
        )

    def test_a_tenant_never_seen_is_empty(self, shared: Shared) -> None:
        tenant = fresh("nobody")
        assert shared.store.load_user(tenant, "u", timeout_seconds=SECONDS) == []
        assert list(shared.store.scan(tenant, batch_rows=10, timeout_seconds=SECONDS)) == []
        assert shared.store.count(tenant, timeout_seconds=SECONDS) == 0
        shared.store.purge(tenant, ["m"], timeout_seconds=SECONDS)
        shared.store.compact(tenant, timeout_seconds=SECONDS)
        assert shared.store.search_knowledge(KnowledgeQuery(tenant, unit(0), 5, NOW, SECONDS)) == []


class LimitContract:
    """B19: bytes, counted by us, the same verdict on every engine; nothing is half-written."""

    @pytest.mark.parametrize("character", ["a", "界", "ü", "😀"], ids=["ascii", "chinese", "umlaut", "emoji"])
    def test_content_is_limited_in_bytes(self, shared: Shared, character: str) -> None:
        user = fresh("user")
        fits = character * (MAX_CONTENT_BYTES // len(character.encode()))
        shared.put(row(user, fits + "a" * (MAX_CONTENT_BYTES - len(fits.encode()))))
        with pytest.raises(InvalidArgument) as raised:
            shared.put(row(user, "whole"), row(user, fits + character))
        assert raised.value.violations[0].field == "content"
        assert str(MAX_CONTENT_BYTES) in raised.value.message and character not in raised.value.message
        assert shared.count(user) == 1

    def test_user_id_is_limited_in_bytes(self, shared: Shared) -> None:
        longest = f"{fresh('u')}-".ljust(MAX_USER_ID_BYTES, "x")
        shared.put(row(longest))
        assert len(shared.load(longest)) == 1
        with pytest.raises(InvalidArgument) as raised:
            shared.put(row("张" * 22))
        assert raised.value.violations[0].field == "user_id"

    def test_metadata_within_its_limit_fits_however_it_is_escaped(self, shared: Shared) -> None:
        user = fresh("user")
        metadata = {f"k{number}": "\x01" * 1000 for number in range(MAX_METADATA_BYTES // 1004)}
        written = row(user, metadata=metadata)
        shared.put(written)
        assert same(shared.load(user)[written.memory.memory_id], written)
        with pytest.raises(InvalidArgument) as raised:
            shared.put(row(user, metadata={"k": "x" * 10 * MAX_METADATA_BYTES}))
        assert raised.value.violations[0].field == "metadata"

    @pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
    def test_text_that_is_not_unicode_is_refused(self, shared: Shared, text: str) -> None:
        with pytest.raises(InvalidArgument):
            shared.put(row(fresh("user"), text))

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_vectors_that_are_not_finite_are_refused(self, shared: Shared, value: float) -> None:
        user = fresh("user")
        bad = row(user)
        vector = bad.embedding.copy()
        vector[3] = value
        with pytest.raises(InvalidArgument):
            shared.put(row(user), replace(bad, embedding=vector))
        with pytest.raises(InvalidArgument):
            shared.put(replace(bad, embedding=bad.embedding[:-1]))
        assert shared.count(user) == 0


class KnowledgeContract:
    """Approximate search with exact filters."""

    def search(
        self, shared: Shared, vector: np.ndarray, top_k: int, now: int = NOW
    ) -> list[tuple[str, float]]:
        query = KnowledgeQuery(shared.tenant, vector, top_k, now, SECONDS)
        return [(hit.memory.content, hit.score) for hit in shared.store.search_knowledge(query)]

    def test_best_first_by_cosine_with_every_column(self, shared: Shared) -> None:
        query = unit(100)
        others = [unit(200 + number) for number in range(30)]
        # Near the query, so that knowledge of other tests does not come between.
        vectors = [query + 0.02 * number * other for number, other in enumerate(others, start=1)]
        vectors = [(vector / np.linalg.norm(vector)).astype(np.float32) for vector in vectors]
        rows = [
            knowledge(f"产品 {number} rate", vector, metadata={"n": str(number)}, created_at=NOW)
            for number, vector in enumerate(vectors)
        ]
        shared.put(*rows, knowledge=True)
        hits = shared.store.search_knowledge(KnowledgeQuery(shared.tenant, query, 10, NOW, SECONDS))
        expected = sorted(rows, key=lambda r: -float(r.embedding @ query))[:10]
        assert [hit.memory for hit in hits] == [r.memory for r in expected]
        np.testing.assert_allclose(
            [hit.score for hit in hits], [float(r.embedding @ query) for r in expected], atol=1e-5
        )

    def test_b27_b33_deleted_and_expired_take_no_place(self, shared: Shared) -> None:
        query = unit(101)
        hidden = [
            knowledge("expired now", query, expires_at=NOW),
            knowledge("expired long ago", query, expires_at=5),
            replace(knowledge("deleted", query), is_deleted=True),
        ]
        live = [
            knowledge("a second left", query, expires_at=NOW + 1),
            knowledge("for ever", query),
        ]
        shared.put(*hidden, *live, knowledge=True)
        assert {content for content, _ in self.search(shared, query, 2)} == {"a second left", "for ever"}
        assert "a second left" not in {content for content, _ in self.search(shared, query, 5, NOW + 1)}
        assert "expired now" in {content for content, _ in self.search(shared, query, 5, NOW - 1)}
        shared.store.purge(
            shared.tenant, [r.memory.memory_id for r in live], knowledge=True, timeout_seconds=SECONDS
        )
        assert not {"a second left", "for ever"} & {content for content, _ in self.search(shared, query, 5)}

    def test_a_soft_deleted_row_may_have_no_direction(self, shared: Shared) -> None:
        gone = replace(knowledge("withdrawn", np.zeros(DIMENSION, np.float32)), is_deleted=True)
        shared.put(gone, knowledge=True)
        found = shared.store.get(
            shared.tenant, [gone.memory.memory_id], knowledge=True, timeout_seconds=SECONDS
        )
        assert [r.is_deleted for r in found] == [True]
        assert all(np.isfinite(score) for _, score in self.search(shared, unit(102), 50))


class OpeningContract:
    """Opening, recognising, and not answering."""

    def test_another_store_sees_what_was_written(self, shared: Shared, open_store: OpenStore) -> None:
        store = open_store()
        store.open(["reopened"])
        written = row("用户")
        store.upsert("reopened", [written], timeout_seconds=SECONDS)
        store.close()
        store = open_store()
        store.open(["reopened"])
        [found] = store.load_user("reopened", "用户", timeout_seconds=SECONDS)
        assert same(found, written)
        store.ping(timeout_seconds=SECONDS)

    @pytest.mark.parametrize(
        ("option", "value", "both"),
        [
            ("embedder_model", "embedder-2", (EMBEDDER, "embedder-2")),
            ("dimension", DIMENSION + 1, (str(DIMENSION), str(DIMENSION + 1))),
        ],
    )
    def test_a_store_of_another_embedder_is_refused(
        self, open_store: OpenStore, option: str, value: object, both: tuple[str, str]
    ) -> None:
        store = open_store()
        store.open(["mismatch"])
        store.close()
        other = open_store(**{option: value})
        with pytest.raises(StoreMismatch) as raised:
            other.open(["mismatch"])
        assert all(name in raised.value.message for name in both)

    def test_a_closed_store_is_unavailable(self, open_store: OpenStore) -> None:
        store = open_store()
        with pytest.raises(StoreUnavailable):
            store.ping(timeout_seconds=1)
        store.open([])
        store.ping(timeout_seconds=SECONDS)
        store.close()
        store.close()
        with pytest.raises(StoreUnavailable):
            store.load_user("t", "u", timeout_seconds=1)

    def test_no_time_is_no_answer(self, shared: Shared) -> None:
        with pytest.raises(StoreUnavailable):
            shared.store.load_user(shared.tenant, "u", timeout_seconds=0.0)

    def test_it_describes_itself_without_secrets(self, shared: Shared) -> None:
        described = shared.store.describe()
        assert described["embedder"] == EMBEDDER and described["dimension"] == str(DIMENSION)
        assert described["engine"] and described["index_type"] == "FLAT"
