"""Commands of the one who runs the service: serve, doctor.

The settings are imported where they are used: every `memlane` command imports this module.
"""

import contextlib
import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memlane_core.domain.errors import MemlaneError

from .. import logs
from .connection import console, fail

if TYPE_CHECKING:
    from ..config import Settings

Config = Annotated[
    Path | None, typer.Option("--config", "-c", envvar="MEMLANE_CONFIG", help="TOML file with settings")
]


def load_or_fail(config: Path | None, **overrides: Any) -> "Settings":
    from pydantic import ValidationError

    from ..config import load

    try:
        return load(config, **overrides)
    except FileNotFoundError as error:
        fail(str(error), 2)
    except ValidationError as error:
        # The input is left out: a wrong setting may be a secret in the wrong place.
        lines = [f"  {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False)]
        fail("the configuration is wrong:\n" + "\n".join(lines), 2)
    except ValueError as error:
        fail(f"the configuration cannot be read: {error}", 2)


@contextlib.contextmanager
def _imports() -> Iterator[None]:
    """What is imported stays: a collection in the midst of it walks it in vain, and so does every later one."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def serve(
    config: Config = None,
    host: Annotated[str | None, typer.Option(help="Address to bind")] = None,
    port: Annotated[int | None, typer.Option(help="Port to bind; 0 = a free one")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is kept")] = None,
    allow_insecure_public: Annotated[
        bool, typer.Option("--allow-insecure-public", help="Serve others without TLS")
    ] = False,
    allow_unauthenticated_public: Annotated[
        bool, typer.Option("--allow-unauthenticated-public", help="Serve others without credentials")
    ] = False,
    console_page: Annotated[
        bool | None,
        typer.Option("--console/--no-console", help="Serve the operator's page, on 127.0.0.1:7071"),
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print the settings that hold, secrets masked, and exit")
    ] = False,
) -> None:
    """Run the gRPC server until SIGTERM."""
    server = {
        "host": host,
        "port": port,
        "allow_insecure_public": allow_insecure_public or None,
        "allow_unauthenticated_public": allow_unauthenticated_public or None,
    }
    overrides: dict[str, Any] = {"server": {k: v for k, v in server.items() if v is not None}}
    if data_dir is not None:
        overrides["data_dir"] = data_dir
    if console_page is not None:
        overrides["console"] = {"enabled": console_page}
    settings = load_or_fail(config, **{k: v for k, v in overrides.items() if v})
    if print_config:
        print(json.dumps(settings.shown(), ensure_ascii=False, indent=2))
        return
    logs.configure(settings.log.level, settings.log.format)
    try:
        from ..address import check_address

        check_address(settings)
        with _imports():
            from .serve import run
        run(settings)
    except MemlaneError as error:
        fail(error.message)


def doctor(config: Config = None) -> None:
    """Check configuration, stores and embedder, and say in words what is wrong."""
    with _imports():
        from ..doctor import examine

    settings = load_or_fail(config)
    findings = examine(settings)
    for finding in findings:
        mark = "[green]✓[/]" if finding.good else "[bold red]✗[/]"
        console.print(f"{mark} [bold]{finding.part}[/]: {finding.text}", highlight=False)
    raise typer.Exit(0 if all(f.good for f in findings) else 1)
