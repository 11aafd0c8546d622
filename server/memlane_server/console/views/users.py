"""A user's memories and their history."""

import asyncio
from dataclasses import dataclass

from starlette.responses import Response

from memlane.v1 import compliance_service_pb2, memory_pb2, memory_service_pb2

from ...principal import COMPLIANCE
from ..compare import Part, parts
from ..dispatch import CallRefused
from ..forms import Fields
from ..problems import FieldWrong
from ..site import Visit

PAGE_SIZE = 25
_WHOLE_HISTORY = 1000
_GONE = ("DELETE", "EXPIRE")

_ORDERS = ("CREATE_TIME_DESC", "CREATE_TIME_ASC", "UPDATE_TIME_DESC", "UPDATE_TIME_ASC")
_SHOWN = ("live", "gone")


@dataclass(frozen=True, slots=True)
class Gone:
    """A memory that was deleted or expired, as the audit log and its history tell."""

    event: compliance_service_pb2.AuditEvent
    content: str | None
    """What it said last; None once that was erased."""


@dataclass(frozen=True, slots=True)
class Step:
    """One revision of a memory, with what it changed."""

    revision: memory_pb2.MemoryRevision
    changes: list[Part]
    """Empty unless both texts are known and differ."""


async def find(visit: Visit) -> Response:
    """The start: whom to look at."""
    if visit.user_id:
        return visit.redirect("/memories", user_id=visit.user_id)
    return visit.page("find.html")


async def memories(visit: Visit) -> Response:
    if visit.query["show"] == "gone":
        return await _gone(visit)
    request = _list_request(visit)
    answer = await visit.call("MemoryService/ListMemories", request, memory_service_pb2.ListMemoriesResponse)
    return visit.page(
        "memories.html",
        user_id=request.user_id,
        hold=await hold_of(visit, request.user_id),
        orders=_ORDERS,
        memories=answer.memories,
        gone=None,
        next_page=answer.next_page_token,
    )


async def _gone(visit: Visit) -> Response:
    """Reads show no deleted memory, and the audit log no text: what is gone is found there and read in histories."""
    user_id = visit.user_id
    answer = await visit.call(
        "ComplianceService/ListAuditEvents",
        compliance_service_pb2.ListAuditEventsRequest(
            user_id=user_id, actions=_GONE, page_size=PAGE_SIZE, page_token=visit.query["page_token"]
        ),
        compliance_service_pb2.ListAuditEventsResponse,
    )
    events = [event for event in answer.events if event.memory_id]
    texts = await asyncio.gather(*(_last_text(visit, user_id, event.memory_id) for event in events))
    return visit.page(
        "memories.html",
        user_id=user_id,
        hold=await hold_of(visit, user_id),
        orders=_ORDERS,
        memories=(),
        gone=[Gone(event, text) for event, text in zip(events, texts, strict=True)],
        next_page=answer.next_page_token,
    )


async def history(visit: Visit) -> Response:
    user_id, memory_id = visit.user_id, visit.query["memory_id"]
    answer = await visit.call(
        "MemoryService/ListMemoryRevisions",
        memory_service_pb2.ListMemoryRevisionsRequest(
            user_id=user_id,
            memory_id=memory_id,
            page_size=PAGE_SIZE,
            page_token=visit.query["page_token"],
        ),
        memory_service_pb2.ListMemoryRevisionsResponse,
    )
    return visit.page(
        "history.html",
        user_id=user_id,
        memory_id=memory_id,
        steps=[_step(revision) for revision in answer.revisions],
        next_page=answer.next_page_token,
    )


async def hold_of(visit: Visit, user_id: str) -> compliance_service_pb2.LegalHold | None:
    """None where the visitor may not know."""
    if not visit.may(COMPLIANCE):
        return None
    answer = await visit.call(
        "ComplianceService/GetLegalHold",
        compliance_service_pb2.GetLegalHoldRequest(user_id=user_id),
        compliance_service_pb2.GetLegalHoldResponse,
    )
    return answer.legal_hold


async def _last_text(visit: Visit, user_id: str, memory_id: str) -> str | None:
    try:
        answer = await visit.call(
            "MemoryService/ListMemoryRevisions",
            memory_service_pb2.ListMemoryRevisionsRequest(
                user_id=user_id, memory_id=memory_id, page_size=_WHOLE_HISTORY
            ),
            memory_service_pb2.ListMemoryRevisionsResponse,
        )
    except CallRefused as refused:
        if refused.reason != "NOT_FOUND":
            raise
        return None
    texts = [revision.content for revision in answer.revisions if revision.HasField("content")]
    return texts[-1] if texts else None


def _step(revision: memory_pb2.MemoryRevision) -> Step:
    known = revision.HasField("content") and revision.HasField("previous_content")
    changed = known and revision.content != revision.previous_content
    return Step(revision, parts(revision.previous_content, revision.content) if changed else [])


def _list_request(visit: Visit) -> memory_service_pb2.ListMemoriesRequest:
    query, zone = visit.query, visit.site.zone
    order = query["order"] or _ORDERS[0]
    if order not in _ORDERS:
        raise FieldWrong("order", "problem.malformed")
    return memory_service_pb2.ListMemoriesRequest(
        user_id=visit.user_id,
        page_size=PAGE_SIZE,
        page_token=query["page_token"],
        order=memory_service_pb2.MemoryOrder.Value(f"MEMORY_ORDER_{order}"),
        metadata_filter=_labels(query),
        created_after=query.moment("created_after", zone),
        created_before=query.moment("created_before", zone),
        as_of=query.moment("as_of", zone),
    )


def _labels(query: Fields) -> dict[str, str]:
    """One label to filter by, as name=value. Raises FieldWrong."""
    text = query.line("metadata")
    if not text:
        return {}
    name, equals, value = text.partition("=")
    if not equals:
        raise FieldWrong("metadata", "problem.not_label")
    return {name.strip(): value.strip()}
