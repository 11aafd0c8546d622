"""kill -9 during a stream of writes, again and again: what was acknowledged must be there, and the audit chain whole.

python -m tests.crash.kill_rounds --rounds 200
"""

import argparse
import random
import sys
import tempfile
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from memlane.v1 import (
    compliance_service_pb2,
    compliance_service_pb2_grpc,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
)
from tests.support.memlane_server import ServerProcess

WRITERS = 4


@dataclass
class Ledger:
    """What the server acknowledged: text by memory id, None once deleted; by user."""

    users: dict[str, dict[str, str | None]] = field(default_factory=dict)
    unsure: dict[str, set[str]] = field(default_factory=dict)
    """Memory ids with a write whose answer never came: either outcome is right."""
    unsure_texts: dict[str, set[str]] = field(default_factory=dict)
    """Facts of Remembers whose answer never came: the server may have put them in place of any older memory."""


def write_until_killed(
    server: ServerProcess, user_id: str, ledger: Ledger, stop: threading.Event, seed: int
) -> None:
    """Creates, updates, deletes and Remembers of one user, each recorded only when it was acknowledged."""
    chance = random.Random(seed)
    mine = ledger.users.setdefault(user_id, {})
    unsure = ledger.unsure.setdefault(user_id, set())
    unsure_texts = ledger.unsure_texts.setdefault(user_id, set())
    with server.channel() as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        while not stop.is_set():
            live = [i for i, text in mine.items() if text is not None and i not in unsure]
            text = f"用户的第 {uuid.uuid4().hex} 号合同已签署"
            target = ""
            remembering = False
            try:
                if live and chance.random() < 0.25:
                    target = chance.choice(live)
                    stub.UpdateMemory(
                        memory_service_pb2.UpdateMemoryRequest(
                            user_id=user_id, memory_id=target, content=text, request_id=uuid.uuid4().hex
                        ),
                        timeout=10,
                    )
                    mine[target] = text
                elif live and chance.random() < 0.15:
                    target = chance.choice(live)
                    stub.DeleteMemory(
                        memory_service_pb2.DeleteMemoryRequest(user_id=user_id, memory_id=target), timeout=10
                    )
                    mine[target] = None
                elif chance.random() < 0.3:
                    remembering = True
                    fact = memory_pb2.Fact(content=text)
                    response = stub.Remember(
                        memory_service_pb2.RememberRequest(
                            user_id=user_id, facts=memory_pb2.FactList(facts=[fact])
                        ),
                        timeout=10,
                    )
                    for operation in response.operations:
                        mine[operation.memory.memory_id] = operation.memory.content
                else:
                    created = stub.CreateMemory(
                        memory_service_pb2.CreateMemoryRequest(user_id=user_id, content=text), timeout=10
                    )
                    mine[created.memory.memory_id] = text
            except grpc.RpcError:
                if target:
                    unsure.add(target)
                if remembering:
                    unsure_texts.add(text)
                return


def check(server: ServerProcess, ledger: Ledger) -> list[str]:
    """What is wrong, in words; empty when all is right."""
    problems = []
    with server.channel() as channel:
        memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
        for user_id, expected in ledger.users.items():
            found = {m.memory_id: m.content for m in list_all(memories, user_id)}
            for memory_id, text in expected.items():
                if memory_id in ledger.unsure[user_id]:
                    continue
                there = found.get(memory_id)
                if there == text or there in ledger.unsure_texts[user_id]:
                    continue
                problem = "is missing" if there is None else "is not as it was acknowledged"
                problems.append(f"{user_id}/{memory_id}: {problem}")
            for memory_id, text in found.items():
                if not text.startswith("用户的第 ") or not text.endswith(" 号合同已签署"):
                    problems.append(f"{user_id}/{memory_id}: half-written text")
        audit = compliance_service_pb2_grpc.ComplianceServiceStub(channel)
        verdict = audit.VerifyAuditLog(compliance_service_pb2.VerifyAuditLogRequest(), timeout=60)
        if not verdict.valid:
            problems.append(f"audit chain is broken at {verdict.first_bad_seq}: {verdict.description}")
    return problems


def list_all(stub: memory_service_pb2_grpc.MemoryServiceStub, user_id: str) -> list[memory_pb2.Memory]:
    memories: list[memory_pb2.Memory] = []
    token = ""
    while True:
        page = stub.ListMemories(
            memory_service_pb2.ListMemoriesRequest(user_id=user_id, page_size=1000, page_token=token),
            timeout=60,
        )
        memories += page.memories
        token = page.next_page_token
        if not token:
            return memories


def write_and_kill(server: ServerProcess, ledger: Ledger, chance: random.Random) -> None:
    """Write from several threads, then kill -9 at a random moment."""
    stop = threading.Event()
    with ThreadPoolExecutor(WRITERS) as pool:
        for writer in range(WRITERS):
            user_id = f"客户-{chance.randrange(20)}-{writer}"
            pool.submit(write_until_killed, server, user_id, ledger, stop, chance.randrange(1 << 30))
        time.sleep(chance.uniform(0.1, 1.0))
        server.kill()
        stop.set()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    failed = 0
    ledger = Ledger()
    with tempfile.TemporaryDirectory(prefix="memlane-crash-") as folder:
        server = ServerProcess(Path(folder) / "data").start()
        try:
            for number in range(1, arguments.rounds + 1):
                write_and_kill(server, ledger, chance)
                server.start()
                problems = check(server, ledger)
                failed += bool(problems)
                acknowledged = sum(len(m) for m in ledger.users.values())
                print(
                    f"round {number}/{arguments.rounds}: {acknowledged} memories acknowledged so far, "
                    f"{len(problems)} problems",
                    flush=True,
                )
                for problem in problems[:10]:
                    print(f"  {problem}", flush=True)
        finally:
            server.kill()
    print(f"{arguments.rounds - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
