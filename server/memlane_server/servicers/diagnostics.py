"""DiagnosticsService."""

from memlane.v1 import diagnostics_service_pb2 as pb
from memlane_core.domain import limits
from memlane_core.domain.errors import InvalidArgument
from memlane_core.services.call import Call

from ..translate.common import DECIDERS
from ..validate import MAX_ECHO_BYTES
from .base import Servicer

_LIMITS = pb.Limits(**{name: getattr(limits, name.upper()) for name in pb.Limits.DESCRIPTOR.fields_by_name})


class DiagnosticsServicer(Servicer):
    async def Echo(self, request: pb.EchoRequest, call: Call) -> pb.EchoResponse:
        if len(request.payload) > MAX_ECHO_BYTES:
            raise InvalidArgument.of("payload", f"must not be longer than {MAX_ECHO_BYTES} bytes")
        return pb.EchoResponse(payload=request.payload)

    async def GetServerInfo(self, request: pb.GetServerInfoRequest, call: Call) -> pb.GetServerInfoResponse:
        info = self._services.info
        return pb.GetServerInfoResponse(
            version=info.version,
            embedder=pb.EmbedderInfo(
                model=info.embedder_model,
                dimension=info.dimension,
                nomination_threshold=info.nomination_threshold,
            ),
            decider_kinds=[DECIDERS[kind] for kind in info.decider_kinds],
            vector_store_engine=info.vector_store_engine,
            journal_engine=info.journal_engine,
            limits=_LIMITS,
        )
