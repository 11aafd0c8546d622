"""MemoryService, its searches apart."""

from dataclasses import replace

from memlane.v1 import memory_pb2
from memlane.v1 import memory_service_pb2 as pb
from memlane_core.services.call import Call

from .. import validate
from ..translate.common import consistency, from_datetime, memory_message
from ..translate.memories import (
    create_command,
    delete_command,
    list_query,
    memory_bytes,
    page,
    revision_bytes,
    revision_messages,
    update_command,
)
from ..translate.remember import (
    ingestion_fields,
    ingestion_message,
    ingestion_state,
    remember_request,
    result_fields,
)
from ..validate import Violations
from .search import SearchServicer

_INGESTION_BYTES = 512


class MemoryServicer(SearchServicer):
    async def Remember(self, request: pb.RememberRequest, call: Call) -> pb.RememberResponse:
        services = self._services
        asked = remember_request(request, self._stamp("Remember", request), self._received())
        command = asked.command
        if command.session_id:
            said = await services.sessions.said(call, command.user_id, command.session_id)
            command = replace(command, messages=said)
        response = pb.RememberResponse()
        if asked.assumed_time is not None:
            response.assumed_create_time.CopyFrom(from_datetime(asked.assumed_time))
        if asked.wait:
            result = await services.remember.remember(call, command)
            response.MergeFrom(
                pb.RememberResponse(**result_fields(result, validate_only=command.validate_only))
            )
            response.written_at.CopyFrom(self._written_at(call, result.position))
        else:
            response.ingestion_id = await services.ingestion.submit(call, command)
            response.written_at.CopyFrom(self._now_at(call))
        return response

    async def GetIngestion(self, request: pb.GetIngestionRequest, call: Call) -> pb.GetIngestionResponse:
        v = Violations()
        user_id = validate.user_id(v, request.user_id)
        ingestion_id = validate.identifier(v, "ingestion_id", request.ingestion_id, 64)
        wanted = consistency(v, request)
        v.check()
        read_at = await self._fresh(call, user_id, wanted)
        status = await self._services.ingestion.get(call, user_id, ingestion_id)
        response = pb.GetIngestionResponse(**ingestion_fields(status.ingestion), read_at=read_at)
        if status.result is not None:
            response.MergeFrom(pb.GetIngestionResponse(**result_fields(status.result)))
            response.written_at.CopyFrom(self._written_at(call, status.result.position))
        return response

    async def ListIngestions(
        self, request: pb.ListIngestionsRequest, call: Call
    ) -> pb.ListIngestionsResponse:
        v = Violations()
        user_id = validate.user_id(v, request.user_id)
        pages = self._pages(call, "ListIngestions", request)
        cursor = pages.cursor(v, 1)
        size = validate.page_size(v, request.page_size)
        state = ingestion_state(v, request.state)
        wanted = consistency(v, request)
        v.check()
        read_at = await self._fresh(call, user_id, wanted)
        found = await self._services.ingestion.list_ingestions(
            call, user_id, state=state, before_us=cursor[0] if cursor else None, limit=size + 1
        )
        rows, more = page(found, size, lambda row: _INGESTION_BYTES)
        return pb.ListIngestionsResponse(
            ingestions=[ingestion_message(s.ingestion) for s in rows],
            next_page_token=pages.token(rows[-1].ingestion.created_us) if more else "",
            read_at=read_at,
        )

    async def RetryIngestion(
        self, request: pb.RetryIngestionRequest, call: Call
    ) -> pb.RetryIngestionResponse:
        v = Violations()
        user_id = validate.user_id(v, request.user_id)
        ingestion_id = validate.identifier(v, "ingestion_id", request.ingestion_id, 64)
        validate.request_id(v, request.request_id)
        v.check()
        status = await self._services.ingestion.retry(call, user_id, ingestion_id)
        return pb.RetryIngestionResponse(
            ingestion=ingestion_message(status.ingestion), written_at=self._now_at(call)
        )

    async def CreateMemory(self, request: pb.CreateMemoryRequest, call: Call) -> pb.CreateMemoryResponse:
        stamp = self._stamp("CreateMemory", request)
        command = create_command(request, stamp, self._services.secrets)
        written = await self._services.memories.create(call, command)
        return pb.CreateMemoryResponse(
            memory=memory_message(written.memory), written_at=self._written_at(call, written.position)
        )

    async def GetMemory(self, request: pb.GetMemoryRequest, call: Call) -> pb.GetMemoryResponse:
        v = Violations()
        user_id = validate.user_id(v, request.user_id)
        memory_id = validate.memory_id(v, request.memory_id)
        wanted = consistency(v, request)
        v.check()
        memory = await self._services.memories.get(call, user_id, memory_id, wanted)
        return pb.GetMemoryResponse(memory=memory_message(memory), read_at=self._now_at(call))

    async def UpdateMemory(self, request: pb.UpdateMemoryRequest, call: Call) -> pb.UpdateMemoryResponse:
        stamp = self._stamp("UpdateMemory", request)
        command = update_command(request, stamp, self._services.secrets)
        written = await self._services.memories.update(call, command)
        return pb.UpdateMemoryResponse(
            memory=memory_message(written.memory), written_at=self._written_at(call, written.position)
        )

    async def DeleteMemory(self, request: pb.DeleteMemoryRequest, call: Call) -> pb.DeleteMemoryResponse:
        stamp = self._stamp("DeleteMemory", request)
        command = delete_command(request, stamp, self._services.secrets)
        written = await self._services.memories.delete(call, command)
        return pb.DeleteMemoryResponse(
            memory=memory_message(written.memory, deleted=True),
            written_at=self._written_at(call, written.position),
        )

    async def ListMemories(self, request: pb.ListMemoriesRequest, call: Call) -> pb.ListMemoriesResponse:
        v = Violations()
        pages = self._pages(call, "ListMemories", request)
        query = list_query(v, request, pages.cursor(v, 2), self._services.clock.now())
        wanted = consistency(v, request)
        v.check()
        found = await self._services.memories.list_memories(call, query, wanted)
        if request.memory_type == memory_pb2.MEMORY_TYPE_SEMANTIC:
            found = []  # a user's memories are episodic, all of them
        rows, more = page(found, query.limit - 1, memory_bytes)
        response = pb.ListMemoriesResponse(
            memories=[memory_message(m) for m in rows], read_at=self._now_at(call)
        )
        if more:
            last = rows[-1]
            moment = last.stated_at if query.by_update_time else last.created_at
            response.next_page_token = pages.token(moment, last.position)
        return response

    async def ListMemoryRevisions(
        self, request: pb.ListMemoryRevisionsRequest, call: Call
    ) -> pb.ListMemoryRevisionsResponse:
        v = Violations()
        user_id = validate.user_id(v, request.user_id)
        memory_id = validate.memory_id(v, request.memory_id)
        pages = self._pages(call, "ListMemoryRevisions", request)
        cursor = pages.cursor(v, 1)
        size = validate.page_size(v, request.page_size)
        wanted = consistency(v, request)
        v.check()
        read_at = await self._fresh(call, user_id, wanted)
        found = await self._services.memories.revisions(
            call, user_id, memory_id, after_position=cursor[0] if cursor else 0, limit=size + 1
        )
        rows, more = page(found, size, revision_bytes)
        return pb.ListMemoryRevisionsResponse(
            revisions=revision_messages(rows),
            next_page_token=pages.token(rows[-1].position) if more else "",
            read_at=read_at,
        )
