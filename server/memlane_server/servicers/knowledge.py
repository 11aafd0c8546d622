"""KnowledgeService."""

from memlane.v1 import knowledge_service_pb2 as pb
from memlane_core.domain.limits import GLOBAL_USER_ID
from memlane_core.services.call import Call
from memlane_core.services.consistency import MINIMIZE_LATENCY

from .. import validate
from ..translate.common import consistency
from ..translate.knowledge import (
    knowledge_id,
    knowledge_message,
    scored_knowledge,
    timing_message,
    upsert_command,
)
from ..translate.memories import memory_bytes, page
from ..translate.search import query_or_vector
from ..validate import Violations
from .base import Servicer


class KnowledgeServicer(Servicer):
    async def UpsertKnowledge(
        self, request: pb.UpsertKnowledgeRequest, call: Call
    ) -> pb.UpsertKnowledgeResponse:
        command = upsert_command(request, self._stamp("UpsertKnowledge", request))
        written = await self._services.knowledge.upsert(call, command)
        return pb.UpsertKnowledgeResponse(
            knowledge=knowledge_message(written.memory),
            created=written.created,
            written_at=self._written_at(call, written.position),
        )

    async def GetKnowledge(self, request: pb.GetKnowledgeRequest, call: Call) -> pb.GetKnowledgeResponse:
        v = Violations()
        wanted_id = knowledge_id(v, request.knowledge_id)
        wanted = consistency(v, request)
        v.check()
        read_at = await self._fresh(call, GLOBAL_USER_ID, wanted)
        memory = await self._services.knowledge.get(call, wanted_id, MINIMIZE_LATENCY)
        return pb.GetKnowledgeResponse(knowledge=knowledge_message(memory), read_at=read_at)

    async def DeleteKnowledge(
        self, request: pb.DeleteKnowledgeRequest, call: Call
    ) -> pb.DeleteKnowledgeResponse:
        v = Violations()
        wanted_id = knowledge_id(v, request.knowledge_id)
        revision = validate.revision(v, request.revision)
        validate.request_id(v, request.request_id)
        v.check()
        stamp = self._stamp("DeleteKnowledge", request)
        written = await self._services.knowledge.delete(call, wanted_id, revision, stamp)
        return pb.DeleteKnowledgeResponse(
            knowledge=knowledge_message(written.memory, deleted=True),
            written_at=self._written_at(call, written.position),
        )

    async def ListKnowledge(self, request: pb.ListKnowledgeRequest, call: Call) -> pb.ListKnowledgeResponse:
        v = Violations()
        pages = self._pages(call, "ListKnowledge", request)
        cursor = pages.cursor(v, 2)
        size = validate.page_size(v, request.page_size)
        wanted = consistency(v, request)
        v.check()
        read_at = await self._fresh(call, GLOBAL_USER_ID, wanted)
        found = await self._services.knowledge.list_knowledge(
            call,
            after_key=(cursor[0], cursor[1]) if cursor else None,
            limit=size + 1,
            consistency=MINIMIZE_LATENCY,
        )
        rows, more = page(found, size, memory_bytes)
        return pb.ListKnowledgeResponse(
            knowledge=[knowledge_message(k) for k in rows],
            next_page_token=pages.token(rows[-1].created_at, rows[-1].position) if more else "",
            read_at=read_at,
        )

    async def SearchKnowledge(
        self, request: pb.SearchKnowledgeRequest, call: Call
    ) -> pb.SearchKnowledgeResponse:
        v = Violations()
        query, embedding = query_or_vector(v, request, self._services.search.dimension, required=True)
        top_k = validate.top_k(v, request.top_k)
        min_score = request.min_score if request.HasField("min_score") else None
        if min_score is not None:
            validate.not_nan(v, "min_score", min_score)
        wanted = consistency(v, request)
        v.check()
        read_at = await self._fresh(call, GLOBAL_USER_ID, wanted)
        hits, timing = await self._services.knowledge.search(
            call,
            query=query,
            embedding=embedding,
            top_k=top_k,
            min_score=min_score,
            consistency=MINIMIZE_LATENCY,
        )
        return pb.SearchKnowledgeResponse(
            results=[scored_knowledge(h) for h in hits],
            read_at=read_at,
            timing=timing_message(timing),
        )
