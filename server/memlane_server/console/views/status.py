"""How the server is."""

from starlette.responses import Response

from memlane.v1 import diagnostics_service_pb2

from ...principal import ADMIN
from ..site import Visit


async def show(visit: Visit) -> Response:
    info = await visit.call(
        "DiagnosticsService/GetServerInfo",
        diagnostics_service_pb2.GetServerInfoRequest(),
        diagnostics_service_pb2.GetServerInfoResponse,
    )
    kinds = info.DESCRIPTOR.fields_by_name["decider_kinds"].enum_type
    assert kinds is not None
    return visit.page(
        "status.html",
        info=info,
        deciders=[
            visit.texts.label("decider", kinds.values_by_number[n].name.removeprefix("DECIDER_KIND_"))
            for n in info.decider_kinds
        ],
        limits=[(field.name, value) for field, value in info.limits.ListFields()],
        board=visit.site.board,
        # It counts all tenants together.
        index=visit.site.index() if visit.may(ADMIN) else None,
    )
