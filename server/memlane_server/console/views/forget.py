"""Erasing a user, with proof."""

import uuid

from google.protobuf.json_format import MessageToJson
from starlette.responses import Response

from memlane.v1 import compliance_service_pb2, memory_service_pb2

from ..problems import FieldWrong
from ..show import download, spelled
from ..site import Visit
from .users import hold_of

_MAX_COUNTED = 1000


async def form(visit: Visit) -> Response:
    user_id = visit.user_id
    live = await visit.call(
        "MemoryService/ListMemories",
        memory_service_pb2.ListMemoriesRequest(user_id=user_id, page_size=_MAX_COUNTED),
        memory_service_pb2.ListMemoriesResponse,
    )
    return visit.page(
        "forget.html",
        user_id=user_id,
        hold=await hold_of(visit, user_id),
        live=len(live.memories),
        more=bool(live.next_page_token),
        # A form that is sent twice is one order.
        request_id=f"console-{uuid.uuid4().hex}",
    )


async def order(visit: Visit) -> Response:
    """Raises FieldWrong unless the user's id was typed as the page shows it."""
    user_id, fields = visit.user_id, visit.form
    if fields.line("typed_user_id") != spelled(user_id).strip():
        raise FieldWrong("typed_user_id", "problem.other_user")
    answer = await visit.call(
        "ComplianceService/ForgetUser",
        compliance_service_pb2.ForgetUserRequest(
            user_id=user_id,
            operator=fields.line("operator"),
            reason=fields.line("reason"),
            purge_now=bool(fields["purge_now"]),
            request_id=fields["request_id"],
        ),
        compliance_service_pb2.ForgetUserResponse,
    )
    # Named as the command line names it, so that either can be filed.
    receipt = MessageToJson(answer.receipt, ensure_ascii=False, preserving_proto_field_name=True)
    return visit.page(
        "receipt.html",
        user_id=user_id,
        memory_count=answer.memory_count,
        receipt=answer.receipt,
        receipt_json=receipt,
        receipt_link=download(receipt, "application/json"),
    )
