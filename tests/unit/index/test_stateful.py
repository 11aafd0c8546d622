"""The index against a model, over any sequence of loads, writes, drops and reads."""

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memlane_core.index import SearchQuery, UserIndex

from .rows import DIMENSION, RECORDS, row, unit

TENANTS = st.sampled_from(["t1", "t2"])
USERS = st.sampled_from(["alice", "bob", 'x" || user_id != "y'])
IDS = st.sampled_from([f"m{i}" for i in range(6)])
BUDGET = 60_000


class IndexMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.index = UserIndex(DIMENSION, BUDGET, RECORDS)
        self.truth: dict[tuple[str, str], dict[str, str]] = {}
        self.position = 0

    @rule(
        tenant=TENANTS,
        user=USERS,
        changes=st.dictionaries(IDS, st.sampled_from("abc") | st.none(), max_size=4),
    )
    def write(self, tenant: str, user: str, changes: dict[str, str | None]) -> None:
        upserts, deletes = [], []
        own = self.truth.setdefault((tenant, user), {})
        for memory_id, text in changes.items():
            self.position += 1
            if text is None:
                own.pop(memory_id, None)
                deletes.append(memory_id)
            else:
                own[memory_id] = f"{tenant} {user} {text}"
                upserts.append(row(memory_id, own[memory_id], user_id=user, position=self.position))
        self.index.apply(tenant, user, upserts, deletes, self.position)

    @rule(tenant=TENANTS, user=USERS)
    def load(self, tenant: str, user: str) -> None:
        rows = [
            row(memory_id, text, user_id=user, position=self.position)
            for memory_id, text in self.truth.get((tenant, user), {}).items()
        ]
        self.index.put_user(tenant, user, rows, self.position)

    @rule(tenant=TENANTS, user=USERS)
    def drop(self, tenant: str, user: str) -> None:
        self.index.drop(tenant, user)
        assert self.index.get(tenant, user) is None

    @rule(tenant=TENANTS, user=USERS, seed=st.integers(0, 9))
    def search(self, tenant: str, user: str, seed: int) -> None:
        """Isolation and read-your-writes: exactly this user's texts, as last written."""
        block = self.index.get(tenant, user)
        if block is not None:
            hits = block.search(SearchQuery(unit(seed), None, 10, 0.0))
            assert {h.memory.memory_id: h.memory.content for h in hits} == self.truth.get((tenant, user), {})
            assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
            assert all(h.record == RECORDS.encode(h.memory) for h in hits)

    @invariant()
    def accounting_is_exact(self) -> None:
        blocks = list(self.index._blocks.values())
        stats = self.index.stats()
        assert stats.bytes == sum(b.nbytes for b in blocks)
        assert stats.rows == sum(len(b) for b in blocks)
        assert stats.users == len(blocks)
        assert stats.bytes <= BUDGET or stats.users == 1


TestIndex = IndexMachine.TestCase
TestIndex.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
