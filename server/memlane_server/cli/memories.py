"""Commands over one user's memories."""

import uuid
from datetime import UTC, datetime
from typing import Annotated

import typer
from google.protobuf.timestamp_pb2 import Timestamp
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from memlane.v1 import (
    context_service_pb2,
    context_service_pb2_grpc,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
)

from .connection import DEFAULT_ADDRESS, Address, UserId, connected, console


def search(
    user_id: UserId,
    query: Annotated[str, typer.Argument(help="What to look for, Chinese or English", show_default=False)],
    top_k: Annotated[int, typer.Option("--top-k", "-k", help="How many")] = 5,
    address: Address = DEFAULT_ADDRESS,
) -> None:
    """Find a user's memories about something."""
    with connected(address) as channel:
        answer = memory_service_pb2_grpc.MemoryServiceStub(channel).SearchMemories(
            memory_service_pb2.SearchMemoriesRequest(
                user_id=user_id, query=query, top_k=top_k, include_score_parts=True
            ),
            timeout=30,
        )
    table = _table("score", "cosine", "words", "recorded", "memory")
    for r in answer.results:
        table.add_row(
            f"{r.score:.3f}",
            f"{r.cosine:.3f}",
            f"{r.lexical:.3f}",
            _day(r.memory.update_time),
            escape(r.memory.content),
        )
    console.print(table)
    console.print(
        f"[dim]{len(answer.results)} memories, {answer.timing.total_us / 1000:.3f} ms in the server[/]"
    )


def remember(
    user_id: UserId,
    text: Annotated[
        list[str], typer.Argument(help="What the user said, one message each", show_default=False)
    ],
    facts: Annotated[
        bool, typer.Option("--facts", help="The texts are facts already: no extraction")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Decide, and write nothing")] = False,
    address: Address = DEFAULT_ADDRESS,
) -> None:
    """Let the server extract facts from messages, compare them with what is known, and apply what it decides."""
    request = memory_service_pb2.RememberRequest(
        user_id=user_id, validate_only=dry_run, request_id=uuid.uuid4().hex
    )
    if facts:
        request.facts.facts.extend(memory_pb2.Fact(content=t) for t in text)
    else:
        request.conversation.messages.extend(
            memory_pb2.Message(role=memory_pb2.ROLE_USER, content=t) for t in text
        )
    with connected(address) as channel:
        answer = memory_service_pb2_grpc.MemoryServiceStub(channel).Remember(request, timeout=120)
    if not answer.operations and not answer.rejected:
        console.print("[dim]nothing worth keeping was said[/]")
    for operation in answer.operations:
        action = memory_pb2.Action.Name(operation.action).removeprefix("ACTION_")
        decider = memory_pb2.DeciderKind.Name(operation.decider).removeprefix("DECIDER_KIND_")
        console.print(f"[bold]{action:<6}[/] {escape(operation.memory.content)}")
        if operation.HasField("previous") and operation.previous.content != operation.memory.content:
            console.print(f"       [dim]before: {escape(operation.previous.content)}[/]")
        console.print(f"       [dim]{escape(operation.reason)} ({decider})[/]")
    for rejected in answer.rejected:
        console.print(f"[yellow]kept out[/] {escape(rejected.fact)}: {escape(rejected.reason)}")


def context(
    user_id: UserId,
    query: Annotated[str, typer.Argument(help="What the user asks now", show_default=False)],
    session_id: Annotated[str, typer.Option("--session", help="Session whose window goes along")] = "",
    budget_tokens: Annotated[int, typer.Option("--budget", help="Tokens at most; 0 = no bound")] = 0,
    address: Address = DEFAULT_ADDRESS,
) -> None:
    """Print the prompt that would go to the model."""
    with connected(address) as channel:
        answer = context_service_pb2_grpc.ContextServiceStub(channel).BuildContext(
            context_service_pb2.BuildContextRequest(
                user_id=user_id, session_id=session_id, query=query, budget_tokens=budget_tokens
            ),
            timeout=30,
        )
    console.print(Panel(escape(answer.system_prompt or "(empty)"), title="system prompt", title_align="left"))
    for message in answer.messages:
        role = memory_pb2.Role.Name(message.role).removeprefix("ROLE_").lower()
        console.print(f"[cyan]{role}:[/] {escape(message.content)}")
    console.print(
        f"[dim]about {answer.total_tokens} tokens, {len(answer.memories)} memories, "
        f"{answer.timing.total_us / 1000:.3f} ms in the server[/]"
    )


def list_memories(user_id: UserId, address: Address = DEFAULT_ADDRESS) -> None:
    """List a user's live memories, newest first."""
    table = _table("id", "rev", "recorded", "expires", "memory")
    token, count = "", 0
    with connected(address) as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        while True:
            page = stub.ListMemories(
                memory_service_pb2.ListMemoriesRequest(user_id=user_id, page_size=200, page_token=token),
                timeout=30,
            )
            for m in page.memories:
                expires = _day(m.expire_time) if m.HasField("expire_time") else ""
                table.add_row(m.memory_id, str(m.revision), _day(m.update_time), expires, escape(m.content))
            count += len(page.memories)
            token = page.next_page_token
            if not token:
                break
    console.print(table)
    console.print(f"[dim]{count} memories[/]")


def history(
    user_id: UserId,
    memory_id: Annotated[str, typer.Argument(help="Which memory", show_default=False)],
    address: Address = DEFAULT_ADDRESS,
) -> None:
    """Show how one memory became what it is."""
    with connected(address) as channel:
        answer = memory_service_pb2_grpc.MemoryServiceStub(channel).ListMemoryRevisions(
            memory_service_pb2.ListMemoryRevisionsRequest(
                user_id=user_id, memory_id=memory_id, page_size=1000
            ),
            timeout=30,
        )
    table = _table("rev", "action", "time (UTC)", "by", "content", "reason")
    for r in answer.revisions:
        table.add_row(
            str(r.revision),
            memory_pb2.Action.Name(r.action).removeprefix("ACTION_"),
            r.time.ToDatetime(UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00"),
            escape(r.actor),
            escape(r.content) if r.HasField("content") else "[dim](erased)[/]",
            escape(r.reason),
        )
    console.print(table)


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column in ("id", "rev", "score", "recorded"))
    return table


def _day(stamp: Timestamp) -> str:
    moment: datetime = stamp.ToDatetime(UTC)
    return moment.date().isoformat()
