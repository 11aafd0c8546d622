"""Child process of the crash test: appends to a journal until it is killed, and says what was acknowledged.

Usage: journal_writer.py DATABASE ROUND. One line per acknowledged commit goes to standard output: the
request_id, the position of the last change and the answer, tab-separated, flushed before the next append
begins.
"""

import itertools
import sys

import numpy as np

from memlane_core.adapters.sql import SqlJournal
from memlane_core.domain.memory import Action, DeciderKind, Memory
from memlane_core.ports.journal import AppliedRow, Change, Commit, RequestStamp

TENANT = "bank"
USERS = 5
DIMENSION = 64


def text_of(name: str) -> str:
    """The text of a memory follows from its id, so that a torn row would show."""
    return f"{name}: 每月十五号还款, repays on the 15th. " * 5


def vector_of(name: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    values = np.random.default_rng(sum(name.encode())).normal(size=DIMENSION).astype(np.float32)
    return values / np.linalg.norm(values)


def run(database: str, round_name: str) -> None:
    journal = SqlJournal(f"sqlite:///{database}")
    for index in itertools.count():
        user_id = f"用户{index % USERS}"
        names = [f"{round_name}-{index}-{part}" for part in range(1 + index % 3)]
        done = journal.append(
            Commit(
                tenant=TENANT,
                user_id=user_id,
                actor="crash-test",
                operation="Remember",
                time_us=1_700_000_000_000_000 + index,
                changes=tuple(
                    Change(
                        action=Action.ADD,
                        memory=Memory(
                            memory_id=name, user_id=user_id, content=text_of(name), created_at=index
                        ),
                        previous_content=None,
                        embedding=vector_of(name),
                        reason="as stated",
                        reason_code="STATED",
                        decider=DeciderKind.RULES,
                    )
                    for name in names
                ),
                request=RequestStamp("Remember", names[0], "fingerprint"),
                respond=lambda positions: f"{list(positions)}",
            )
        )
        print(names[0], done.positions[-1], list(done.positions), sep="\t", flush=True)
        if index % 4 == 3:
            journal.mark_applied([AppliedRow(TENANT, names[0], done.positions[0])])


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2])
