"""Commands of compliance: forget, export, audit."""

import sys
import uuid
from datetime import UTC
from typing import Annotated

import typer
from google.protobuf import json_format
from rich.markup import escape
from rich.table import Table

from memlane.v1 import compliance_service_pb2, compliance_service_pb2_grpc

from .connection import DEFAULT_ADDRESS, Address, UserId, connected, console, with_credential

Operator = Annotated[str, typer.Option("--operator", help="Who orders it, for the audit log")]
Reason = Annotated[str, typer.Option("--reason", help="Why, for the audit log")]

app = typer.Typer(help="The audit log.", no_args_is_help=True)


def forget(
    user_id: UserId,
    operator: Operator,
    reason: Reason,
    purge_now: Annotated[
        bool,
        typer.Option("--purge-now", help="Remove the rows from disk at once, not after the retention time"),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask")] = False,
    address: Address = DEFAULT_ADDRESS,
) -> None:
    """Erase a user: memories, history, window, waiting work. The audit log keeps who, when, why and how many."""
    if not yes:
        typer.confirm(f"Erase everything of user {user_id!r}? This cannot be undone", abort=True)
    with connected(address) as channel:
        answer = compliance_service_pb2_grpc.ComplianceServiceStub(channel).ForgetUser(
            compliance_service_pb2.ForgetUserRequest(
                user_id=user_id,
                operator=operator,
                reason=reason,
                purge_now=purge_now,
                request_id=uuid.uuid4().hex,
            ),
            timeout=300,
        )
    console.print(f"[green]✓[/] {answer.memory_count} memories forgotten")
    print(json_format.MessageToJson(answer.receipt, ensure_ascii=False, preserving_proto_field_name=True))


def export(user_id: UserId, operator: Operator, reason: Reason, address: Address = DEFAULT_ADDRESS) -> None:
    """Print everything kept about a user, one JSON object a line."""
    with connected(address) as channel:
        for record in compliance_service_pb2_grpc.ComplianceServiceStub(channel).ExportUser(
            compliance_service_pb2.ExportUserRequest(user_id=user_id, operator=operator, reason=reason),
            timeout=600,
        ):
            sys.stdout.write(
                json_format.MessageToJson(
                    record, ensure_ascii=False, preserving_proto_field_name=True, indent=None
                )
                + "\n"
            )


@app.command()
@with_credential
def verify(address: Address = DEFAULT_ADDRESS) -> None:
    """Recompute the hash chain of the audit log."""
    with connected(address) as channel:
        answer = compliance_service_pb2_grpc.ComplianceServiceStub(channel).VerifyAuditLog(
            compliance_service_pb2.VerifyAuditLogRequest(), timeout=600
        )
    if not answer.valid:
        console.print(f"[bold red]✗ broken at {answer.first_bad_seq}[/]: {escape(answer.description)}")
        raise typer.Exit(1)
    console.print(f"[green]✓[/] {answer.events_checked} events, head {answer.head_seq} {answer.head_hash}")


@app.command(name="list")
@with_credential
def list_events(
    user_id: Annotated[str, typer.Option("--user", help="Only of this user")] = "",
    limit: Annotated[int, typer.Option(help="How many")] = 50,
    address: Address = DEFAULT_ADDRESS,
) -> None:
    """List audit events."""
    request = compliance_service_pb2.ListAuditEventsRequest(page_size=limit)
    if user_id:
        request.user_id = user_id
    with connected(address) as channel:
        answer = compliance_service_pb2_grpc.ComplianceServiceStub(channel).ListAuditEvents(
            request, timeout=30
        )
    table = Table("seq", "time (UTC)", "actor", "operation", "user", "count", "reason", "detail", box=None)
    for e in answer.events:
        time = e.time.ToDatetime(UTC).isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
        table.add_row(
            str(e.seq),
            time,
            escape(e.actor),
            e.operation,
            escape(e.user_id),
            str(e.count),
            e.reason_code,
            escape(e.detail),
        )
    console.print(table)
