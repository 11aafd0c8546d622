"""The commands of `memlane`."""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from . import audit, credentials, evaluate, memories, operate
from .bench import bench
from .connection import console, with_credential

app = typer.Typer(
    help="Agent memory over gRPC: keeps what is worth knowing about a customer, true and in milliseconds.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
app.command()(operate.serve)
app.command()(operate.doctor)
app.command()(credentials.certs)
app.command()(credentials.keys)
app.command()(credentials.token)
app.command()(with_credential(memories.search))
app.command()(with_credential(memories.remember))
app.command()(with_credential(memories.context))
app.command(name="list")(with_credential(memories.list_memories))
app.command()(with_credential(memories.history))
app.command()(with_credential(audit.forget))
app.command()(with_credential(audit.export))
app.command()(with_credential(bench))
app.add_typer(audit.app, name="audit")
app.add_typer(evaluate.app, name="eval")


@app.command()
def demo(
    report: Annotated[Path, typer.Option(help="Where to write the page")] = Path("demo-report.html"),
) -> None:
    """Watch memory being made, kept true, used and forgotten, on a server of its own."""
    from ..demo.run import run

    raise typer.Exit(0 if run(report, console) else 1)


def _show_version(wanted: bool) -> None:
    if wanted:
        console.print(f"memlane {version('memlane')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version")
    ] = False,
) -> None:
    pass
