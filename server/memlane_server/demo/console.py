"""The scenes on a terminal."""

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from .record import Decided, Item, Listed, Note, Prompt, Said, Scene, Took

_COLORS = {"ADD": "green", "UPDATE": "yellow", "DELETE": "red", "NOOP": "dim"}


def show(console: Console, scene: Scene) -> None:
    console.print()
    console.rule(f"[bold]{scene.number}. {scene.title}[/] [dim]{escape(scene.user_id)}[/]", align="left")
    for item in scene.items:
        _show_item(console, item)


def _show_item(console: Console, item: Item) -> None:
    match item:
        case Said():
            color = "cyan" if item.from_customer else "dim"
            console.print(f"  [{color}]{escape(item.speaker)}:[/] {escape(item.text)}")
        case Decided():
            color = _COLORS.get(item.action, "white")
            before = (
                f" [dim]← {escape(item.previous)}[/]" if item.previous and item.previous != item.text else ""
            )
            until = f" [magenta](until {item.expires})[/]" if item.expires else ""
            console.print(f"  [bold {color}]{item.action:<6}[/] {escape(item.text)}{before}{until}")
            guards = f", guards: {', '.join(item.guards)}" if item.guards else ""
            console.print(f"         [dim]{escape(item.reason)} ({item.decider}{guards})[/]")
        case Listed():
            table = Table(*item.columns, box=None, padding=(0, 2), header_style="dim")
            for row in item.rows:
                table.add_row(*map(escape, row))
            console.print(table)
        case Prompt():
            console.print(
                Panel(escape(item.text), title=f"prompt, about {item.tokens} tokens", title_align="left")
            )
        case Note():
            mark = {True: "[green]✓[/]", False: "[bold red]✗[/]", None: "[blue]·[/]"}[item.passed]
            console.print(f"  {mark} {escape(item.text)}")
        case Took():
            by = "server" if item.by_server else "round trip"
            console.print(f"  [blue]{item.milliseconds:9.3f} ms[/] [dim]{escape(item.what)} ({by})[/]")
