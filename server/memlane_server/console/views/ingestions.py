"""What was given for later and how far it is."""

import asyncio

from starlette.responses import Response

from memlane.v1 import memory_service_pb2

from ..site import Visit
from .users import PAGE_SIZE, hold_of

_STATES = ("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED")
_COUNTED = ("PENDING", "RUNNING", "FAILED")
_MAX_COUNTED = 1000


async def listing(visit: Visit) -> Response:
    user_id, state = visit.user_id, visit.query["state"]
    answer = await visit.call(
        "MemoryService/ListIngestions",
        memory_service_pb2.ListIngestionsRequest(
            user_id=user_id,
            page_size=PAGE_SIZE,
            page_token=visit.query["page_token"],
            state=_state(state if state in _STATES else "UNSPECIFIED"),
        ),
        memory_service_pb2.ListIngestionsResponse,
    )
    counts = await asyncio.gather(*(_count(visit, user_id, name) for name in _COUNTED))
    return visit.page(
        "ingestions.html",
        user_id=user_id,
        hold=await hold_of(visit, user_id),
        states=_STATES,
        ingestions=answer.ingestions,
        next_page=answer.next_page_token,
        counts=dict(zip(_COUNTED, counts, strict=True)),
        max_counted=_MAX_COUNTED,
    )


async def one(visit: Visit) -> Response:
    user_id = visit.user_id
    answer = await visit.call(
        "MemoryService/GetIngestion",
        memory_service_pb2.GetIngestionRequest(user_id=user_id, ingestion_id=visit.query["ingestion_id"]),
        memory_service_pb2.GetIngestionResponse,
    )
    return visit.page("ingestion.html", user_id=user_id, ingestion=answer)


async def retry(visit: Visit) -> Response:
    user_id = visit.user_id
    await visit.call(
        "MemoryService/RetryIngestion",
        memory_service_pb2.RetryIngestionRequest(user_id=user_id, ingestion_id=visit.query["ingestion_id"]),
        memory_service_pb2.RetryIngestionResponse,
    )
    return visit.redirect("/ingestions", user_id=user_id)


async def _count(visit: Visit, user_id: str, state: str) -> int:
    """Up to a page full; a user's backlog is bounded far below that."""
    answer = await visit.call(
        "MemoryService/ListIngestions",
        memory_service_pb2.ListIngestionsRequest(
            user_id=user_id, page_size=_MAX_COUNTED, state=_state(state)
        ),
        memory_service_pb2.ListIngestionsResponse,
    )
    return len(answer.ingestions)


def _state(name: str) -> "memory_service_pb2.IngestionState.ValueType":
    return memory_service_pb2.IngestionState.Value(f"INGESTION_STATE_{name}")
