"""`memlane bench` against real servers: what it measures, what it says, and that nothing of it stays."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import grpc
import pytest
from click.testing import Result
from typer.testing import CliRunner

from memlane.v1 import (
    compliance_service_pb2,
    compliance_service_pb2_grpc,
    diagnostics_service_pb2,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
)
from memlane_server.bench import memload, report
from memlane_server.bench.asyncio_child import Mix, Recorder, offsets
from memlane_server.bench.asyncio_sessions import CallFailed
from memlane_server.bench.load import Load, Outcome, Target
from memlane_server.bench.population import WRITERS, Allowed
from memlane_server.bench.scenarios import SCENARIOS, Targets, choose, counts
from memlane_server.bench.sizing import Point, RateSearch, Settings, Sizing, verdict
from memlane_server.cli.bench import _possible
from memlane_server.cli.main import app
from tests.support.forked_server import running_forked_server
from tests.support.memlane_server import ServerProcess
from tests.support.secure_server import SecureServer, running_secure_server

SHORT = ("--seconds", "0.3", "--memories", "6", "--generator", "python")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with running_forked_server(tmp_path_factory.mktemp("bench") / "data") as process:
        yield process


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureServer]:
    with running_secure_server(tmp_path_factory.mktemp("secure")) as process:
        yield process


def bench(address: str, out: Path, *arguments: str, answer: str | None = None) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(
        app,
        ["bench", "--address", address, "--out", str(out), *arguments],
        input=answer,
        env={"COLUMNS": "120", "MEMLANE_TOKEN": None},
    )


def document(result: Result) -> dict[str, Any]:
    """The JSON that is all of standard output."""
    assert result.exit_code == 0, result.output
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


def events(channel: grpc.Channel, metadata: tuple[tuple[str, str], ...] = ()) -> list[tuple[str, str]]:
    """Operation and user of all audit events."""
    stub = compliance_service_pb2_grpc.ComplianceServiceStub(channel)
    found: list[tuple[str, str]] = []
    token = ""
    while True:
        page = stub.ListAuditEvents(
            compliance_service_pb2.ListAuditEventsRequest(page_size=1000, page_token=token),
            metadata=metadata,
        )
        found += [(event.operation, event.user_id) for event in page.events]
        token = page.next_page_token
        if not token:
            return found


def memories(channel: grpc.Channel, user_id: str, metadata: tuple[tuple[str, str], ...] = ()) -> int:
    stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
    request = memory_service_pb2.ListMemoriesRequest(user_id=user_id)
    return len(stub.ListMemories(request, metadata=metadata).memories)


def assert_clean(channel: grpc.Channel, prefix: str) -> None:
    """Whoever was written to by this benchmark was forgotten last, and has no memory."""
    operations: dict[str, list[str]] = {}
    for operation, user in events(channel):
        if user.startswith(prefix):
            operations.setdefault(user, []).append(operation)
    assert operations, "the benchmark wrote nothing"
    for user, done in operations.items():
        assert "ForgetUser" in done, user
        assert memories(channel, user) == 0, user


@pytest.mark.timeout(400)  # sixteen measurements, each by a process of its own
def test_every_scenario_by_the_generator_in_python(server: ServerProcess, tmp_path: Path) -> None:
    names = list(SCENARIOS)
    result = bench(
        server.address, tmp_path, *SHORT, "--connections", "2", "--rate", "20",
        "--scenarios", ",".join(names), "--json",
    )  # fmt: skip
    found = document(result)
    assert json.loads((tmp_path / "bench.json").read_text(encoding="utf-8")) == found
    assert found["format"] == report.FORMAT and not found["interrupted"] and not found["failure"]
    assert found["server"]["version"] and found["server"]["embedder"]["dimension"] == 512
    assert found["server"]["deciders"] == ["RULES"]
    assert "Python" in found["generator"]["name"] and "inside these latencies" in found["generator"]["note"]
    assert found["generator"]["machine"]["cores"] >= 1 and found["arguments"]["connections"] == "2"

    measured = [(f["scenario"], f["loop"], f["connections"], f["rate_per_s"]) for f in found["figures"]]
    for name in names:
        calls = 2 if name == "mixed" else 1
        for point in ((2, None), (2, 20.0)):
            loop = "closed" if point[1] is None else "open"
            assert measured.count((name, loop, *point)) == calls
    for figure in found["figures"]:
        assert figure["calls"] == figure["ok"] + sum(figure["errors"].values())
        assert figure["errors"] == {} and figure["not_started"] == 0, figure
        if figure["scenario"] != "mixed" or figure["call"] == "search":
            assert figure["ok"] > 0, figure
            latency = figure["latency_ms"]
            assert 0 < latency["min"] <= latency["p50"] <= latency["p95"] <= latency["p99"] <= latency["max"]
    assert {s["scenario"] for s in found["sustained"]} == set(names)
    assert len(found["sentences"]) == len(names)

    writing = sum(scenario.writes for scenario in SCENARIOS.values())
    users = found["users"]
    assert users["memories_made_to_search"] == 12 and users["left"] == []
    assert users["memories_taken_away"] >= 12
    # Everything but the JSON is on the other stream: what is written, before it is written, and what stays.
    assert f"{users['prefix']}-..." in result.stderr and "audit log keeps an entry" in result.stderr
    assert f"up to {WRITERS * writing * 2} users" in result.stderr
    assert "\x1b[" not in result.stderr + result.stdout
    with server.channel() as channel:
        assert_clean(channel, users["prefix"])

    picture = ET.parse(tmp_path / "bench.svg").getroot()
    texts = ["".join(node.itertext()) for node in picture.iter() if node.tag.endswith("text")]
    for name in names:
        assert any(text.split(":")[0] == name for text in texts), name


def test_the_table_and_the_sentence_for_people(server: ServerProcess, tmp_path: Path) -> None:
    arguments = (*SHORT, "--connections", "2,1", "--rate", "10", "--scenarios", "echo")
    result = bench(server.address, tmp_path, *arguments, "--target-p99-ms", "60000")
    assert result.exit_code == 0, result.output
    assert re.search(r"echo +closed +1 ", result.stdout)
    assert re.search(r"closed +2 ", result.stdout)
    assert re.search(r"open 10\.0/s +2 .* yes", result.stdout)
    assert "echo: sustains 10 calls/s on 2 connections (p99 " in result.stdout
    assert "it may be more" in result.stdout, "no higher rate was tried"
    assert "echo, 2 connections, open loop at 10/s" in result.stderr, "a line for each, without a terminal"
    assert "writes" not in result.stderr, "an echo writes nothing"


@pytest.mark.skipif(
    not (os.environ.get(memload.BINARY_VARIABLE) or (memload._BUILT.is_file() and shutil.which("go"))),
    reason="memload is not built here",
)
def test_memload_measures_the_same(server: ServerProcess, tmp_path: Path) -> None:
    arguments = ("--seconds", "0.3", "--memories", "6", "--generator", "memload", "--connections", "2")
    found = document(
        bench(server.address, tmp_path, *arguments, "--rate", "20", "--scenarios", "search,mixed", "--json")
    )
    assert found["generator"]["name"].startswith("memload") and found["generator"]["note"] == ""
    assert [(f["scenario"], f["call"], f["loop"]) for f in found["figures"]] == [
        ("search", "search", "closed"), ("search", "search", "open"),
        ("mixed", "search", "closed"), ("mixed", "remember", "closed"),
        ("mixed", "search", "open"), ("mixed", "remember", "open"),
    ]  # fmt: skip
    with server.channel() as channel:
        assert_clean(channel, found["users"]["prefix"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_stops_it_leaves_nothing_behind(
    server: ServerProcess, tmp_path: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "memlane_server", "bench", "--address", server.address, "--out", str(tmp_path),
         "--seconds", "1", "--memories", "4", "--connections", "1", "--scenarios", "remember,search",
         "--rate", "2,3,4,5", "--generator", "python"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={k: v for k, v in os.environ.items() if not k.startswith("MEMLANE_")},
    )  # fmt: skip
    assert process.stderr is not None
    told = ""
    for line in process.stderr:
        told += line
        if "closed loop" in line:
            break
    time.sleep(0.7)
    process.send_signal(number)
    shown, rest = process.communicate(timeout=120)
    assert process.returncode == 130, told + rest
    assert "stopped; taking away" in rest and "no user is left" in rest and "Traceback" not in rest
    prefix = re.search(r"memlane-bench-[0-9a-f]{8}", told)
    assert prefix is not None
    with server.channel() as channel:
        assert_clean(channel, prefix[0])
    found = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert found["interrupted"] and found["figures"], "what was measured until then is kept"
    assert "remember" in shown


def test_who_cannot_be_taken_away_is_named(tmp_path: Path) -> None:
    with running_forked_server(tmp_path / "data") as dying:
        process = subprocess.Popen(
            [sys.executable, "-m", "memlane_server", "bench", "--address", dying.address, "--out", str(tmp_path),
             "--seconds", "1", "--memories", "4", "--connections", "1", "--scenarios", "search", "--rate", "2,3",
             "--generator", "python"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={k: v for k, v in os.environ.items() if not k.startswith("MEMLANE_")},
        )  # fmt: skip
        assert process.stderr is not None
        for line in process.stderr:
            if "closed loop" in line:
                break
        dying.kill()
        _, rest = process.communicate(timeout=150)
    assert process.returncode == 1 and "Traceback" not in rest, rest
    found = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    prefix = found["users"]["prefix"]
    assert found["users"]["left"] == [f"{prefix}-r0", f"{prefix}-r1"]
    assert f"for user in {prefix}-r0 {prefix}-r1; do memlane forget" in rest


def test_a_limit_that_was_met_is_named(tmp_path: Path) -> None:
    limits = {"MEMLANE_LIMITS__USER__READS__PER_SECOND": "20", "MEMLANE_LIMITS__USER__READS__BURST": "20"}
    arguments = ("--connections", "4", "--rate", "200", "--scenarios", "search", "--users", "1", "--json")
    with running_forked_server(tmp_path / "data", limits) as limited:
        result = bench(limited.address, tmp_path, *SHORT, *arguments)
    found = document(result)
    (opened,) = [figure for figure in found["figures"] if figure["loop"] == "open"]
    assert opened["errors"]["ResourceExhausted"] > 0 and opened["failed_latency_ms"]["p50"] > 0
    assert not opened["holds"] and any("ended with ResourceExhausted" in why for why in opened["against"])
    assert "this user may not send more reads" in opened["error_messages"]["ResourceExhausted"]
    assert opened["error_messages"]["ResourceExhausted"] in result.stderr
    assert found["users"]["left"] == []


def test_a_model_is_paid_for_only_where_it_was_asked_for() -> None:
    info = diagnostics_service_pb2.GetServerInfoResponse(
        decider_kinds=[memory_pb2.DECIDER_KIND_MODEL, memory_pb2.DECIDER_KIND_RULES]
    )
    allowed = Allowed(reads=True, writes=True, erases=True, bound=False)
    chosen = choose("echo,create,remember,mixed")
    possible, skipped = _possible(chosen, allowed, info, explicit=False)
    assert [scenario.name for scenario in possible] == ["echo", "create"]
    assert [name for name, _ in skipped] == ["remember", "mixed"]
    assert _possible(chosen, allowed, info, explicit=True) == (chosen, [])


def test_another_machine_is_loaded_only_after_a_yes(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memlane_server.cli.bench.is_loopback", lambda target: False)
    with server.channel() as channel:
        before = len(events(channel))
        refused = bench(server.address, tmp_path, *SHORT, "--scenarios", "create", answer="n\n")
        assert refused.exit_code == 1 and f"Put this load on {server.address}?" in refused.stderr
        assert len(events(channel)) == before
    arguments = ("--connections", "1", "--rate", "none", "--scenarios", "echo", "--yes")
    assert bench(server.address, tmp_path, *SHORT, *arguments).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--connections", "0,4"), "--connections"),
        (("--connections", "4,,5"), "--connections"),
        (("--seconds", "0"), "--seconds"),
        (("--memories", "0"), "--memories"),
        (("--rate", "fast"), "--rate"),
        (("--rate", "-5"), "--rate"),
        (("--rate", "nan"), "--rate"),
        (("--scenarios", "echo,nope"), "'nope'"),
        (("--target-p99-ms", "5,nope=3"), "--target-p99-ms"),
        (("--target-p99-ms", "remember=3"), "--target-p99-ms"),
        (("--dimension", "384"), "--dimension: the server's vectors have 512"),
        (("--batch", "1001"), "--batch"),
        (("--top-k", "101"), "--top-k"),
        (("--out", "/dev/null/x"), "--out"),
        (("--insecure", "--ca", "ca.pem"), "contradict"),
    ],
)
def test_a_wrong_option_ends_with_2_and_is_named(
    server: ServerProcess, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    ended = bench(server.address, tmp_path, *arguments)
    assert ended.exit_code == 2, ended.output
    assert told in ended.stderr
    assert not (tmp_path / "bench.json").exists()


def test_no_server_is_told_in_words(unused_tcp_port: int, tmp_path: Path) -> None:
    ended = bench(f"127.0.0.1:{unused_tcp_port}", tmp_path)
    assert ended.exit_code == 1
    assert f"no memlane server answers at 127.0.0.1:{unused_tcp_port}" in ended.stderr


def test_plain_text_to_tls_and_the_wrong_authority(
    secure: SecureServer, server: ServerProcess, tmp_path: Path
) -> None:
    plain = bench(secure.target, tmp_path)
    assert plain.exit_code == 1 and "in plain text" in plain.stderr and "--ca" in plain.stderr
    tls = bench(server.address, tmp_path, "--ca", str(secure.directory / "ca.pem"))
    assert tls.exit_code == 1 and "over TLS" in tls.stderr


def test_a_token_is_asked_for(secure: SecureServer, tmp_path: Path) -> None:
    ended = bench(secure.target, tmp_path, "--ca", str(secure.directory / "ca.pem"))
    assert ended.exit_code == 1 and "UNAUTHENTICATED" in ended.stderr


def test_over_tls_with_a_token_that_is_told_nowhere(secure: SecureServer, tmp_path: Path) -> None:
    token = secure.token("bank")
    result = bench(
        secure.target, tmp_path, *SHORT, "--ca", str(secure.directory / "ca.pem"), "--token", token,
        "--connections", "2", "--rate", "10", "--scenarios", "search,stream,create", "--json",
    )  # fmt: skip
    found = document(result)
    assert {f["scenario"] for f in found["figures"]} == {"search", "stream", "create"}
    assert all(f["ok"] > 0 and not f["errors"] for f in found["figures"])
    written = (tmp_path / "bench.json").read_text() + (tmp_path / "bench.svg").read_text()
    assert token not in written + result.output


@pytest.mark.parametrize(
    ("scope", "bound", "left", "why"),
    [
        ("memory:read", None, ["echo"], "lacks the scope memory:write"),
        ("memory:write compliance", None, ["echo", "create"], "lacks the scope memory:read"),
        ("memory:write", None, ["echo"], "could not be removed"),
        ("memory:read memory:write", "somebody", ["echo"], "bound to one user"),
    ],
)
def test_what_a_credential_may_not_do_is_skipped_and_said(
    secure: SecureServer, tmp_path: Path, scope: str, bound: str | None, left: list[str], why: str
) -> None:
    token = secure.token("bank", scope, user_id=bound)
    found = bench(
        secure.target, tmp_path, *SHORT, "--ca", str(secure.directory / "ca.pem"), "--token", token,
        "--connections", "1", "--rate", "none", "--scenarios", "echo,search,create", "--json",
    )  # fmt: skip
    parsed = document(found)
    assert [figure["scenario"] for figure in parsed["figures"]] == left
    assert any(why in skipped["why"] for skipped in parsed["skipped"]) and why in found.stderr


def test_nothing_left_to_measure_is_a_failure(secure: SecureServer, tmp_path: Path) -> None:
    token = secure.token("bank", "memory:read")
    ended = bench(
        secure.target, tmp_path, "--ca", str(secure.directory / "ca.pem"), "--token", token,
        "--scenarios", "remember",
    )  # fmt: skip
    assert ended.exit_code == 1 and "nothing is left to measure" in ended.stderr


def test_without_the_scope_compliance_memories_are_deleted_one_by_one(
    secure: SecureServer, tmp_path: Path
) -> None:
    token = secure.token("branch", "memory:read memory:write")
    result = bench(
        secure.target, tmp_path, *SHORT, "--ca", str(secure.directory / "ca.pem"), "--token", token,
        "--connections", "1", "--rate", "none", "--scenarios", "search,create", "--json",
    )  # fmt: skip
    found = document(result)
    assert "deleted one by one" in result.stderr and found["users"]["left"] == []
    metadata = (("authorization", f"Bearer {secure.token('branch')}"),)
    with grpc.secure_channel(secure.target, secure.credentials()) as channel:
        done = [e for e in events(channel, metadata) if e[1].startswith(found["users"]["prefix"])]
        assert {operation for operation, _ in done} == {"CreateMemory", "DeleteMemory"}
        assert found["users"]["memories_taken_away"] == sum(op == "CreateMemory" for op, _ in done)
        for user in {user for _, user in done}:
            assert memories(channel, user, metadata) == 0


# Parts without a server.


def outcome(
    p99_ms: float = 1.0, *, ok_per_s: float = 100.0, not_started: int = 0, late_ms: float = 0.0,
    errors: dict[str, int] | None = None, kind: str = "search",
) -> Outcome:  # fmt: skip
    latency = {"p50": 500.0, "p95": 800.0, "p99": 1000 * p99_ms, "p99.9": 2000 * p99_ms}
    return Outcome.parse(
        {
            "generator": "scripted",
            "series": {
                kind: {
                    "calls": 1000 + sum((errors or {}).values()),
                    "ok": 1000,
                    "ok_per_s": ok_per_s,
                    "errors": errors or {},
                    "error_messages": {},
                    "latency_us": latency,
                    "ok_by_second": [1000],
                }
            },
            "start_delay_us": {"p99": 1000 * late_ms},
            "not_started": not_started,
        }
    )


class Scripted:
    """A generator whose server sustains `limit` calls a second."""

    name = "scripted"

    def __init__(self, limit: float, closed: float) -> None:
        self._limit = limit
        self._closed = closed
        self.loads: list[Load] = []

    def run(self, target: Target, load: Load, *, server_pid: int | None = None) -> Outcome:
        self.loads.append(load)
        if load.rate is None:
            return outcome(ok_per_s=self._closed)
        return outcome(5.0 if load.rate <= self._limit else 500.0, ok_per_s=load.rate)


class Names:
    """Users of a population, without a server."""

    readers = ("r0", "r1")

    def __init__(self) -> None:
        self.asked = 0

    def writers(self) -> tuple[str, ...]:
        self.asked += 1
        return (f"w{self.asked}",)


def sized(generator: Scripted, scenario: str = "search", steps: int = 8) -> Sizing:
    settings = Settings(
        target=Target(address="nowhere"), seconds=1.0, targets=Targets(25.0, {}),
        connections=(1, 4), rates=None, steps=steps,
    )  # fmt: skip
    sizing = Sizing(generator, settings, Names(), lambda *_: None)  # type: ignore[arg-type]
    assert len(list(sizing.measure(SCENARIOS[scenario]))) == len(sizing.points) == 2 + steps
    return sizing


@pytest.mark.parametrize(("limit", "closed"), [(800.0, 1000.0), (90.0, 1000.0), (5000.0, 1000.0)])
def test_the_sustained_rate_is_found(limit: float, closed: float) -> None:
    (found,) = sized(Scripted(limit, closed)).verdicts
    assert found.highest is not None and found.highest.rate is not None
    assert 0.8 * limit <= found.highest.rate <= limit
    assert found.refused is not None and found.refused.rate is not None and found.refused.rate > limit
    assert "p99 of search 500.0 ms is over 25 ms" in report.sentence(found, 64)


def test_open_loops_have_random_gaps_and_each_measurement_its_own_writers() -> None:
    generator = Scripted(80.0, 100.0)
    sized(generator, "create", steps=2)
    assert [load.poisson for load in generator.loads] == [False, False, True, True]
    assert [load.write_users for load in generator.loads] == [("w1",), ("w2",), ("w3",), ("w4",)]
    assert all(load.users == ("r0", "r1") for load in generator.loads)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (outcome(26.0), "p99 of search 26.0 ms is over 25 ms"),
        (outcome(errors={"ResourceExhausted": 3}), "3 search ended with ResourceExhausted"),
        (outcome(not_started=7), "7 calls could not begin"),
        (outcome(late_ms=13.0), "the load generator itself began calls late"),
    ],
)
def test_what_speaks_against_a_rate(result: Outcome, told: str) -> None:
    class Fixed(Scripted):
        def run(self, target: Target, load: Load, *, server_pid: int | None = None) -> Outcome:
            return result

    sizing = sized(Fixed(1.0, 1.0), steps=1)
    assert not sizing.points[-1].holds and told in sizing.points[-1].against[0]
    assert told in report.sentence(sizing.verdicts[0], 64)


def test_a_rate_counts_only_when_all_lower_ones_hold() -> None:
    points = [
        Point("search", 4, rate, outcome(), against)
        for rate, against in ((300.0, ()), (100.0, ()), (200.0, ("slow",)))
    ]
    found = verdict("search", points)
    assert found.highest is points[1] and found.refused is points[2]


def test_the_search_for_a_rate_narrows_from_both_sides() -> None:
    search = RateSearch(100.0)
    tried = []
    for holds in (True, False, True, False):
        tried.append(search.rate)
        search.told(holds=holds)
    assert tried == [100.0, 150.0, 125.0, 138.0]


def test_lists_of_options() -> None:
    assert counts("16, 1,4,4") == [1, 4, 16]
    assert [scenario.name for scenario in choose("mixed,echo,mixed")] == ["mixed", "echo"]
    targets = Targets.parse("remember=250, 20")
    assert targets.of("remember") == 250 and targets.of("search") == 20
    for wrong in ("", "1,2", "a", "5,mixed=3", "5,echo=0", "inf"):
        with pytest.raises(ValueError):
            Targets.parse(wrong)


def test_calls_are_due_by_the_rate_alone() -> None:
    assert list(offsets(4.0, 10**9, None)) == [0, 250_000_000, 500_000_000, 750_000_000]
    drawn = list(offsets(1000.0, 10 * 10**9, 1))
    assert drawn == sorted(drawn) == list(offsets(1000.0, 10 * 10**9, 1))
    assert 9_600 < len(drawn) < 10_400, "within four standard deviations of a Poisson process"


def test_a_mix_draws_by_weight_or_takes_turns() -> None:
    weighted = list(islice(Mix("search=90,remember=10").picks(1, 0), 2000))
    assert 0.06 < weighted.count(1) / 2000 < 0.14
    turns = list(islice(Mix("search,echo").picks(1, 0), 100))
    assert all(sorted(turns[n : n + 2]) == [0, 1] for n in range(0, 100, 2))
    for wrong in ("nope", "search=1,echo", "search=-1,echo=1"):
        with pytest.raises(ValueError):
            Mix(wrong)


def test_latencies_are_those_that_occurred_and_late_answers_are_no_throughput() -> None:
    recorder = Recorder(2 * 10**9)
    values = list(range(1000, 1_001_000, 1000))
    random.Random(1).shuffle(values)
    for value in values:
        recorder.answered(value, 10**9)
    recorder.answered(5_000_000, 3 * 10**9)
    recorder.failed(CallFailed("Unavailable", "gone"), 7_000)
    summary = recorder.summary()
    assert (summary["calls"], summary["ok"], summary["ok_per_s"]) == (1002, 1001, 500.0)
    assert summary["errors"] == {"Unavailable": 1} and summary["ok_by_second"] == [0, 1000]
    latency = summary["latency_us"]
    assert (latency["p50"], latency["p99"], latency["p99.9"], latency["max"]) == (501, 991, 1000, 5000)
