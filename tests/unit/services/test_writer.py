"""What a commit brings into the index; journal and index are the real ones."""

import asyncio
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from memlane_core.adapters.sql import SqlJournal
from memlane_core.domain.memory import Action, DeciderKind, Memory
from memlane_core.index import JsonRecords, UserIndex
from memlane_core.ports.journal import Change, Commit
from memlane_core.ports.vector_store import VectorStore
from memlane_core.services.consistency import Positions
from memlane_core.services.locks import KeyedLocks
from memlane_core.services.offload import Offload
from memlane_core.services.writer import MemoryWriter


class ForgetfulStore:
    """Takes all and gives nothing back: what is found later was not read from it."""

    def upsert(self, *args: Any, **options: Any) -> None:
        return None


def adding(memory_id: str) -> Commit:
    vector = np.zeros(8, np.float32)
    vector[0] = 1.0
    memory = Memory(memory_id, "客户1", "有两个孩子", created_at=1, updated_at=1)
    change = Change(Action.ADD, memory, None, vector, "told", "STATED", DeciderKind.EXPLICIT)
    return Commit("t", "客户1", "teller", "CreateMemory", 1_000_000, (change,))


@pytest.mark.parametrize("cold_again", [False, True])
async def test_a_new_user_is_resident_from_the_first_write_on(tmp_path: Path, cold_again: bool) -> None:
    journal = SqlJournal(f"sqlite:///{tmp_path / 'journal'}")
    offload = Offload(2)
    locks = KeyedLocks()
    index = UserIndex(8, 1 << 30, JsonRecords())
    writer = MemoryWriter(
        journal,
        cast(VectorStore, ForgetfulStore()),
        index,
        offload,
        Positions(journal, offload, locks),
        locks,
        on_store_state=lambda up: None,
    )
    try:
        await writer.commit(adding("a"))
        assert [m.memory_id for m in index.get("t", "客户1").live(2)] == ["a"]  # type: ignore[union-attr]
        if cold_again:
            # Only the store knows all of a user who is cold and not new.
            index.drop("t", "客户1")
        await writer.commit(adding("b"))
        block = index.get("t", "客户1")
        if cold_again:
            assert block is None
        else:
            assert {m.memory_id for m in block.live(2)} == {"a", "b"}  # type: ignore[union-attr]
    finally:
        await asyncio.to_thread(offload.close)
        journal.close()
