"""The vector store on Milvus Lite: the contract of its port (B42: alike on Lite and server), and what is Lite's own."""

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memlane_core.adapters.milvus import MilvusStore
from memlane_core.domain.errors import StoreUnavailable
from tests.contracts.vector_store import (
    IsolationContract,
    KnowledgeContract,
    LimitContract,
    OpeningContract,
    RowContract,
)
from tests.contracts.vector_store_builders import DIMENSION, EMBEDDER, SECONDS, OpenStore, Shared, row

TENANT = "bank"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    path = tmp_path_factory.mktemp("lite") / "data" / "shared.db"
    store = MilvusStore(str(path), dimension=DIMENSION, embedder_model=EMBEDDER)
    store.open(["bank-a", "银行 B"])
    yield Shared(store, "bank-a", "银行 B")
    store.close()


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[OpenStore]:
    opened: list[MilvusStore] = []

    def open_one(**options: Any) -> MilvusStore:
        settings: dict[str, Any] = {"dimension": DIMENSION, "embedder_model": EMBEDDER} | options
        opened.append(MilvusStore(str(tmp_path / "own.db"), **settings))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


class TestRows(RowContract):
    pass


class TestIsolation(IsolationContract):
    pass


class TestLimits(LimitContract):
    pass


class TestKnowledge(KnowledgeContract):
    pass


class TestOpening(OpeningContract):
    pass


class TestPrivacy:
    """The embedded engine knows no authentication, so nobody but us may reach it."""

    def test_nobody_else_reads_the_data_or_reaches_the_engine(
        self, open_store: OpenStore, tmp_path: Path
    ) -> None:
        store = open_store()
        store.open([TENANT])
        store.upsert(TENANT, [row("u")], timeout_seconds=SECONDS)
        assert (tmp_path / "own.db").stat().st_mode & 0o077 == 0
        engine_pid = store.describe()["engine_pid"]
        command = Path(f"/proc/{engine_pid}/cmdline").read_bytes().split(b"\0")
        socket = Path(os.fsdecode(command[-2]))
        assert socket.is_socket() and socket.parent.stat().st_mode & 0o077 == 0
        assert _listening_tcp(engine_pid) == set()
        store.close()
        assert not socket.parent.exists() and not _alive(int(engine_pid))

    def test_failures_show_neither_ids_nor_driver_texts(
        self, open_store: OpenStore, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
    ) -> None:
        store = open_store()
        store.open([TENANT])
        with caplog.at_level(logging.DEBUG):
            os.kill(int(store.describe()["engine_pid"]), signal.SIGKILL)
            with pytest.raises(StoreUnavailable) as raised:
                store.load_user(TENANT, "secret-user", timeout_seconds=0.2)
        shown = capfd.readouterr()
        assert "secret-user" not in caplog.text + shown.out + shown.err + str(raised.value)
        assert raised.value.__context__ is None


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _listening_tcp(pid: str) -> set[str]:
    """Local addresses at which a process listens."""
    inodes = {
        link.readlink().name.removeprefix("socket:[").removesuffix("]")
        for link in Path(f"/proc/{pid}/fd").iterdir()
        if "socket:" in str(link.readlink())
    }
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                addresses.add(fields[1])
    return addresses
