"""`memlane bench`: what a running server sustains, so that a deployment can be sized."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

import grpc
import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from memlane.options import ClientOptions, is_loopback
from memlane.v1 import diagnostics_service_pb2, diagnostics_service_pb2_grpc, memory_pb2

from ..bench import memload, plot, report, scenarios
from ..bench.asyncio_load import AsyncioGenerator
from ..bench.load import Generator, GeneratorFailed, Target
from ..bench.population import WRITERS, Allowed, Population, ask
from ..bench.scenarios import Scenario, Targets
from ..bench.sizing import Settings, Sizing
from .connection import DEFAULT_ADDRESS, Address, client_options, connected, console, errors, fail

T = TypeVar("T")
_CONNECT_SECONDS = 20.0
_INTERRUPTED = 130
_TARGETS = "25,batch=100,create=250,remember=250"


class WhichGenerator(StrEnum):
    AUTO = "auto"
    MEMLOAD = "memload"
    PYTHON = "python"


@dataclass(slots=True)
class _Run:
    """What became of a benchmark."""

    sizing: Sizing
    population: Population
    skipped: list[tuple[str, str]]
    """Scenarios and why."""
    began: str = field(default_factory=report.now)
    interrupted: bool = False
    failure: str = ""
    forgotten: int = 0


def bench(
    address: Address = DEFAULT_ADDRESS,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time of each measurement")] = 10.0,
    connections: Annotated[
        str, typer.Option(help="Connections, one caller on each; open loops take the most of them")
    ] = "1,4,16",
    memories: Annotated[int, typer.Option(min=1, help="Memories of each user that is searched")] = 1000,
    users: Annotated[int, typer.Option(min=1, help="Users that are searched")] = 2,
    dimension: Annotated[
        str, typer.Option(help="Values of a vector; a server of another dimension is refused")
    ] = "auto",
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenarios",
            help=f"What to measure, of {', '.join(scenarios.SCENARIOS)}",
            show_default=f"{', '.join(scenarios.DEFAULT.split(','))}; "
            "remember and mixed only where no model decides",
        ),
    ] = None,
    rate: Annotated[
        str,
        typer.Option(
            help="Open loop, calls a second: auto = look for the highest that keeps to --target-p99-ms; "
            "none; or rates with commas between"
        ),
    ] = "auto",
    target_p99_ms: Annotated[
        str,
        typer.Option(
            help="What the p99 may be, for all calls and for those that are named",
            show_default=", ".join(_TARGETS.split(",")),
        ),
    ] = _TARGETS,
    steps: Annotated[int, typer.Option(min=1, help="Rates to try for --rate auto")] = 5,
    top_k: Annotated[int, typer.Option(min=1, help="Memories of an answer")] = 5,
    batch: Annotated[int, typer.Option(min=1, help="Searches of a batch")] = 64,
    generator: Annotated[
        WhichGenerator,
        typer.Option(help="Who makes the calls: memload, in Go, where it is or can be built; else Python"),
    ] = WhichGenerator.AUTO,
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for bench.json and bench.svg")] = Path(
        "memlane-bench"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before loading another machine")
    ] = False,
) -> None:
    """Measure what a running server sustains: latencies by connections, and the highest rate that keeps to a target.

    Writes users of its own, named memlane-bench-..., and forgets them at the end, also after Ctrl-C.

    The load is as heavy as the server takes: whoever else calls it will notice.
    """
    options = client_options(address)
    chosen = _option("--scenarios", scenarios.choose, scenario or scenarios.DEFAULT)
    settings = Settings(
        target=_target(options),
        seconds=seconds,
        targets=_option("--target-p99-ms", Targets.parse, target_p99_ms),
        connections=_option("--connections", scenarios.counts, connections),
        rates=_option("--rate", _rates, rate),
        steps=steps,
        top_k=top_k,
        batch=batch,
    )
    wanted = None if dimension == "auto" else _option("--dimension", scenarios.counts, dimension)[0]
    _prepare(out)
    # As they were given; the credential is not among them.
    arguments = {
        "seconds": seconds, "connections": connections, "memories": memories, "users": users,
        "dimension": dimension, "scenarios": ",".join(one.name for one in chosen), "rate": rate,
        "target_p99_ms": target_p99_ms, "steps": steps, "top_k": top_k, "batch": batch,
        "generator": generator.value,
    }  # fmt: skip
    with connected(address) as channel:
        info = _server_info(channel, options)
        _check(info, settings, memories=memories, users=users, dimension=wanted)
        population = Population(channel, users)
        allowed = ask(channel, population.readers[0])
        chosen, skipped = _possible(chosen, allowed, info, explicit=scenario is not None)
        if not chosen:
            fail("nothing is left to measure:\n" + _lines(f"{name}: {why}" for name, why in skipped))
        driver, note = _generator(generator)
        _announce(address, population, chosen, skipped, settings, memories, allowed, info, note)
        if not yes and not is_loopback(address):
            typer.confirm(f"Put this load on {address}?", abort=True, err=True)
        with _Screen() as screen:
            run = _Run(Sizing(driver, settings, population, screen.begins), population, skipped)
            _measure(run, chosen, settings, memories, allowed, screen)
    document = _document(run, address, info, arguments, note)
    _show(run, document, settings, batch, out, as_json=as_json)
    if run.interrupted:
        raise typer.Exit(_INTERRUPTED)
    if run.failure:
        fail(escape(run.failure))
    if population.written:
        raise typer.Exit(1)


def _option(name: str, parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        fail(f"{name}: {escape(str(error))}", 2)


def _rates(text: str) -> list[float] | None:
    """None = to be found. Raises ValueError."""
    if text == "auto":
        return None
    return [] if text == "none" else sorted({scenarios.number(part.strip()) for part in text.split(",")})


def _target(options: ClientOptions) -> Target:
    tls = options.tls
    paths = (
        [
            Path(str(p)) if p is not None else None
            for p in (tls.root_certificates, tls.client_certificate, tls.client_key)
        ]
        if tls is not None
        else [None] * 3
    )
    return Target(
        address=options.target,
        token=str(options.token or ""),
        ca=paths[0],
        certificate=paths[1],
        key=paths[2],
        tls=not options.plain_text,
    )


def _prepare(out: Path) -> None:
    """What cannot be written is better known before the measuring."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        fail(f"--out: {escape(str(out))} cannot be written to: {error.strerror}", 2)


def _server_info(
    channel: grpc.Channel, options: ClientOptions
) -> diagnostics_service_pb2.GetServerInfoResponse:
    stub = diagnostics_service_pb2_grpc.DiagnosticsServiceStub(channel)
    try:
        info: diagnostics_service_pb2.GetServerInfoResponse = stub.GetServerInfo(
            diagnostics_service_pb2.GetServerInfoRequest(), timeout=_CONNECT_SECONDS
        )
    except grpc.RpcError as error:
        told = (error.details() or "").lower()
        if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
            fail(f"no memlane server answers at {options.target} within {_CONNECT_SECONDS:g} s")
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:
            fail(f"what answers at {options.target} is no memlane server, or one that is too old")
        if error.code() is grpc.StatusCode.UNAVAILABLE and options.plain_text and "refused" not in told:
            fail(
                f"no memlane server answers in plain text at {options.target}; "
                "one that speaks TLS needs --ca (and --cert and --key where it asks for a client certificate)"
            )
        raise
    return info


def _check(
    info: diagnostics_service_pb2.GetServerInfoResponse,
    settings: Settings,
    *,
    memories: int,
    users: int,
    dimension: int | None,
) -> None:
    """What the server would refuse, said once instead of with every call."""
    limits = info.limits
    if dimension is not None and dimension != info.embedder.dimension:
        fail(f"--dimension: the server's vectors have {info.embedder.dimension} values, not {dimension}", 2)
    if settings.top_k > limits.max_top_k:
        fail(f"--top-k: the server takes {limits.max_top_k} at most", 2)
    if settings.batch > limits.max_batch_searches:
        fail(f"--batch: the server takes {limits.max_batch_searches} searches at most", 2)


def _possible(
    chosen: Sequence[Scenario],
    allowed: Allowed,
    info: diagnostics_service_pb2.GetServerInfoResponse,
    *,
    explicit: bool,
) -> tuple[list[Scenario], list[tuple[str, str]]]:
    """Those that can be measured, and why the others cannot."""
    possible: list[Scenario] = []
    skipped: list[tuple[str, str]] = []
    model = memory_pb2.DECIDER_KIND_MODEL in info.decider_kinds
    for one in chosen:
        touches = one.reads or one.writes
        if touches and allowed.bound:
            why = "the credential is bound to one user, a benchmark makes users of its own"
        elif one.reads and not allowed.reads:
            why = "the credential lacks the scope memory:read"
        elif touches and not allowed.writes:
            # Searches of users without memories would look fast and mean nothing.
            why = "the credential lacks the scope memory:write" + (
                ", which making something to search needs" if not one.writes else ""
            )
        elif touches and not allowed.removes:
            why = "what it writes could not be removed: that needs the scope compliance, or memory:read"
        elif one.decides and model and not explicit:
            why = "this server asks a language model at each Remember; name it in --scenarios to pay for that"
        else:
            possible.append(one)
            continue
        skipped.append((one.name, why))
    return possible, skipped


def _generator(which: WhichGenerator) -> tuple[Generator, str]:
    """Who makes the calls, and what to know about it."""
    inside = "the generator is in Python: what a call costs there is inside these latencies (compare echo)"
    if which is WhichGenerator.PYTHON:
        return AsyncioGenerator(), inside
    errors.print("[dim]looking for memload, the load generator in Go (building it first takes minutes)[/]")
    try:
        return memload.find(), ""
    except (GeneratorFailed, OSError) as error:
        if which is WhichGenerator.MEMLOAD:
            fail(f"--generator memload: {escape(str(error))}")
        return AsyncioGenerator(), f"{inside}; memload was not used: {error}"


def _announce(
    address: str,
    population: Population,
    chosen: Sequence[Scenario],
    skipped: Sequence[tuple[str, str]],
    settings: Settings,
    memories: int,
    allowed: Allowed,
    info: diagnostics_service_pb2.GetServerInfoResponse,
    note: str,
) -> None:
    """Before anything is written."""

    def say(text: str) -> None:
        errors.print(escape(text), highlight=False, soft_wrap=True)

    for name, why in skipped:
        say(f"skipped {name}: {why}")
    total = settings.points * len(chosen) * settings.point_seconds
    say(f"{address}: memlane {info.version}, {info.vector_store_engine}, {info.journal_engine}")
    say(f"up to {total / 60:.1f} min of load as heavy as the server takes; its other callers will notice")
    writes = []
    if any(one.reads for one in chosen):
        count = len(population.readers)
        writes.append(f"{count} users with {memories:,} memories each, embedded by {info.embedder.model}")
    if any(one.writes for one in chosen):
        most = WRITERS * settings.points * sum(one.writes for one in chosen)
        writes.append(f"up to {most} users that {', '.join(o.name for o in chosen if o.writes)} write to")
    if writes:
        say(f"writes {'; '.join(writes)}; all are named {population.prefix}-... and taken away at the end")
        if not allowed.erases:
            say(
                "the credential lacks the scope compliance: memories are deleted one by one, and their history and "
                "rows stay until the server's retention time has passed"
            )
        say(
            "what stays: the audit log keeps an entry of each write and erasure, without text; nothing removes those"
        )
    if any(one.decides for one in chosen) and memory_pb2.DECIDER_KIND_MODEL in info.decider_kinds:
        say("this server asks a language model at each Remember: that may cost money")
    if note:
        say(note)


def _measure(
    run: _Run,
    chosen: Sequence[Scenario],
    settings: Settings,
    memories: int,
    allowed: Allowed,
    screen: "_Screen",
) -> None:
    """Fill, measure, take away. Being stopped and a generator's failure are noted in `run`; raises grpc.RpcError when
    users could not be made."""
    population = run.population
    try:
        with _stoppable():
            if any(one.reads for one in chosen):
                screen.phase("making memories", memories * len(population.readers))
                population.fill(memories, screen.tick)
            screen.phase("measuring", settings.points * len(chosen), settings.point_seconds)
            for one in chosen:
                for point in run.sizing.measure(one):
                    screen.tick()
                    screen.line(report.line(point))
    except KeyboardInterrupt:
        run.interrupted = True
        errors.print("stopped; taking away what was written")
    except GeneratorFailed as error:
        run.failure = str(error)
    finally:
        if population.written:
            screen.phase("taking users away", len(population.written))
            _take_away(run, allowed, screen)


def _take_away(run: _Run, allowed: Allowed, screen: "_Screen") -> None:
    """What cannot be taken away is told, with how to do it."""
    why = ""
    try:
        with _stoppable():
            run.forgotten = run.population.forget(allowed, screen.tick)
    except KeyboardInterrupt:
        why = "stopped"
    except grpc.RpcError as error:
        why = f"{error.code().name}: {error.details()}"
    if run.population.written:
        left = " ".join(sorted(run.population.written))
        errors.print(
            f"[bold red]memlane:[/] users could not be taken away ({escape(why)}); with the same connection options:\n"
            f"for user in {left}; do memlane forget $user --operator bench --reason bench --purge-now --yes; done",
            highlight=False,
            soft_wrap=True,
        )
    else:
        screen.line(f"{run.forgotten:,} memories taken away, no user is left")


@contextmanager
def _stoppable() -> Iterator[None]:
    """SIGTERM stops as Ctrl-C does, and Ctrl-C also where a shell has switched it off for its background jobs."""

    def stop(number: int, frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Screen:
    """A progress bar on a terminal; elsewhere a line for each measurement."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal)
        self._task: TaskID | None = None
        self._lock = threading.Lock()
        self._done = 0
        self._since = 0.0
        self._step_seconds = 0.0
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._creep, daemon=True)

    def __enter__(self) -> "_Screen":
        self._progress.start()
        self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._ticker.join()
        self._progress.stop()

    def phase(self, words: str, total: int, step_seconds: float = 0.0) -> None:
        """`step_seconds`: what a step takes, so that the bar moves within it."""
        with self._lock:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._task = self._progress.add_task(words, total=max(total, 1))
            self._done, self._step_seconds, self._since = 0, step_seconds, time.monotonic()

    def begins(self, scenario: Scenario, connections: int, rate: float | None) -> None:
        loop = "closed loop" if rate is None else f"{rate:,.4g}/s"
        with self._lock:
            assert self._task is not None
            words = f"{scenario.name}, {report.on(connections)}, {loop}"
            self._progress.update(self._task, description=words)
            self._since = time.monotonic()

    def tick(self) -> None:
        with self._lock:
            self._done += 1
            self._since = time.monotonic()
            self._update(0.0)

    def line(self, text: str) -> None:
        if not errors.is_terminal:
            errors.print(escape(text), highlight=False, soft_wrap=True)

    def _creep(self) -> None:
        while not self._over.wait(0.2):
            with self._lock:
                if self._task is not None and self._step_seconds:
                    self._update(min(0.95, (time.monotonic() - self._since) / self._step_seconds))

    def _update(self, part: float) -> None:
        if self._task is not None:
            self._progress.update(self._task, completed=self._done + part)


def _document(
    run: _Run,
    address: str,
    info: diagnostics_service_pb2.GetServerInfoResponse,
    arguments: Mapping[str, object],
    note: str,
) -> dict[str, Any]:
    sizing, population = run.sizing, run.population
    batch = int(str(arguments["batch"]))
    return {
        "format": report.FORMAT,
        "began": run.began,
        "ended": report.now(),
        "interrupted": run.interrupted,
        "failure": run.failure,
        "address": address,
        "arguments": dict(arguments),
        "generator": {
            "name": sizing.points[0].outcome.generator if sizing.points else "",
            "note": note,
            "on_the_servers_machine": is_loopback(address),
            "machine": report.machine(),
            "versions": report.versions(),
        },
        "server": {
            "version": info.version,
            "embedder": {"model": info.embedder.model, "dimension": info.embedder.dimension},
            "deciders": [
                memory_pb2.DeciderKind.Name(kind).removeprefix("DECIDER_KIND_") for kind in info.decider_kinds
            ],
            "vector_store": info.vector_store_engine,
            "journal": info.journal_engine,
        },
        "skipped": [{"scenario": name, "why": why} for name, why in run.skipped],
        "sustained": report.sustained(sizing.verdicts),
        "sentences": [report.sentence(verdict, batch) for verdict in sizing.verdicts],
        "figures": report.figures(sizing.points),
        "users": {
            "prefix": population.prefix,
            "memories_made_to_search": population.created,
            "memories_taken_away": run.forgotten,
            "left": sorted(population.written),
        },
    }


def _show(
    run: _Run, document: Mapping[str, Any], settings: Settings, batch: int, out: Path, *, as_json: bool
) -> None:
    """Table, bars and sentences; the files; JSON alone on standard output where it is wanted."""
    screen = errors if as_json else console
    sizing = run.sizing
    if sizing.points:
        screen.print(report.table(sizing.points))
    for bar in report.bars(sizing.verdicts):
        screen.print(escape(bar), highlight=False)
    for sentence in document["sentences"]:
        screen.print(escape(sentence), highlight=False, soft_wrap=True)
    for complaint in report.complaints(sizing.points):
        screen.print(f"[yellow]{escape(complaint)}[/]", highlight=False, soft_wrap=True)
    if is_loopback(str(document["address"])):
        screen.print("[dim]the generator ran on the server's own cores and took part of them[/]")
    server, generator = document["server"], document["generator"]
    subtitle = (
        f"memlane {server['version']}, {server['vector_store']}, {server['journal']}; {generator['name']}; "
        f"{generator['machine']['cores']} cores {generator['machine']['cpu']}; {document['began']}"
    )
    picture = plot.draw("memlane bench", subtitle, sizing.points, sizing.verdicts, settings.targets)
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    try:
        (out / "bench.json").write_text(text, encoding="utf-8")
        (out / "bench.svg").write_text(picture, encoding="utf-8")
    except OSError as error:
        errors.print(f"--out: {escape(str(error))}")
    else:
        screen.print(f"written: {out}/bench.json {out}/bench.svg", highlight=False, soft_wrap=True)
    if as_json:
        print(text, end="")


def _lines(parts: Iterator[str]) -> str:
    return "\n".join(f"  {escape(part)}" for part in parts)
