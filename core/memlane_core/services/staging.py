"""A user's memories as they would stand after the decisions made so far in one Remember."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..domain.conversation import Fact
from ..domain.decision import Candidate, Decision, Operation
from ..domain.memory import Action, DeciderKind, Memory
from ..index import Block
from ..ports.journal import Change


@dataclass(frozen=True, slots=True)
class Why:
    """Who decided a change, and on what ground."""

    reason: str
    decider: DeciderKind
    session_id: str = ""


class Staging:
    """Later facts see what earlier facts of the same call did, before anything is written."""

    def __init__(self, block: Block, *, user_id: str, now: int, candidates: int) -> None:
        self._block = block
        self._user_id = user_id
        self._now = now
        self._k = candidates
        self._staged: dict[str, tuple[Memory, NDArray[np.float32]] | None] = {}
        self.changes: list[Change] = []
        self.deletions = 0
        self.additions = 0

    def candidates(self, vector: NDArray[np.float32]) -> tuple[Candidate, ...]:
        """The user's nearest live memories, most similar first."""
        nearest = self._block.nearest(vector, self._k + len(self._staged), self._now)
        found = [Candidate(m, s) for m, s in nearest if m.memory_id not in self._staged]
        for entry in self._staged.values():
            if entry is not None and entry[0].visible(self._now):
                found.append(Candidate(entry[0], float(entry[1] @ vector)))
        found.sort(key=lambda c: -c.similarity)
        return tuple(found[: self._k])

    def touched(self, candidates: Sequence[Candidate]) -> bool:
        """Whether an earlier fact of this call made or changed any of these memories."""
        return any(c.memory.memory_id in self._staged for c in candidates)

    @property
    def net_additions(self) -> int:
        return self.additions - self.deletions

    def add(self, fact: Fact, content: str, vector: NDArray[np.float32], memory_id: str, why: Why) -> Memory:
        memory = Memory(
            memory_id=memory_id,
            user_id=self._user_id,
            content=content,
            metadata=dict(fact.metadata),
            created_at=self._now,
            updated_at=self._now,
            expires_at=fact.expires_at,
            revision=1,
        )
        self._stage(Action.ADD, memory, None, vector, why)
        self.additions += 1
        return memory

    def update(self, old: Memory, fact: Fact, content: str, vector: NDArray[np.float32], why: Why) -> Memory:
        memory = replace(
            old,
            content=content,
            metadata={**old.metadata, **fact.metadata},
            updated_at=self._now,
            expires_at=fact.expires_at,
            revision=old.revision + 1,
        )
        self._stage(Action.UPDATE, memory, old.content, vector, why)
        return memory

    def delete(self, old: Memory, vector: NDArray[np.float32], why: Why) -> Memory:
        memory = replace(old, updated_at=self._now, revision=old.revision + 1)
        self._stage(Action.DELETE, memory, old.content, vector, why)
        self.deletions += 1
        return memory

    def _stage(
        self,
        action: Action,
        memory: Memory,
        previous_content: str | None,
        vector: NDArray[np.float32],
        why: Why,
    ) -> None:
        deleted = action is Action.DELETE
        self._staged[memory.memory_id] = None if deleted else (memory, vector)
        self.changes.append(
            Change(
                action=action,
                memory=memory,
                previous_content=previous_content,
                embedding=vector,
                reason=why.reason,
                reason_code="DECIDED",
                decider=why.decider,
                is_deleted=deleted,
                session_id=why.session_id,
            )
        )


def noop(decision: Decision, concerned: Candidate | None, decider: DeciderKind) -> Operation:
    return Operation(
        action=Action.NOOP,
        memory=concerned.memory if concerned else None,
        previous=None,
        reason=decision.reason,
        decider=decider,
        similarity=concerned.similarity if concerned else None,
    )
