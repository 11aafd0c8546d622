"""SessionService."""

from memlane.v1 import session_service_pb2 as pb
from memlane_core.domain.conversation import rounds
from memlane_core.services.call import Call
from memlane_core.services.sessions import DEFAULT_ROUNDS

from .. import validate
from ..translate.common import consistency
from ..translate.remember import messages_of, remember_waits, result_fields
from ..translate.sessions import window_messages
from ..validate import Violations
from .base import Servicer

_MAX_ROUNDS = 2**31 - 1


class SessionServicer(Servicer):
    async def AppendMessages(
        self, request: pb.AppendMessagesRequest, call: Call
    ) -> pb.AppendMessagesResponse:
        v = Violations()
        user_id = validate.user_id(v, request.user_id)
        session_id = validate.session_id(v, request.session_id)
        messages = messages_of(v, "messages", request.messages, self._received())
        validate.request_id(v, request.request_id)
        v.check()
        stamp = self._stamp("AppendMessages", request)
        appended = await self._services.sessions.append(call, user_id, session_id, messages, stamp)
        return pb.AppendMessagesResponse(
            message_count=appended.message_count,
            round_count=appended.round_count,
            written_at=self._now_at(call),
        )

    async def GetWindow(self, request: pb.GetWindowRequest, call: Call) -> pb.GetWindowResponse:
        v = Violations()
        user_id = validate.user_id(v, request.user_id)
        session_id = validate.session_id(v, request.session_id)
        max_rounds = validate.whole(
            v, "max_rounds", request.max_rounds, default=DEFAULT_ROUNDS, at_most=_MAX_ROUNDS
        )
        wanted = consistency(v, request)
        v.check()
        read_at = await self._fresh(call, user_id, wanted)
        window = await self._services.sessions.window(call, user_id, session_id, max_rounds)
        return pb.GetWindowResponse(
            messages=window_messages(window),
            round_count=rounds(window.messages),
            ended=window.ended,
            read_at=read_at,
        )

    async def EndSession(self, request: pb.EndSessionRequest, call: Call) -> pb.EndSessionResponse:
        v = Violations()
        user_id = validate.user_id(v, request.user_id)
        session_id = validate.session_id(v, request.session_id)
        wait = remember_waits(v, request.mode)
        validate.request_id(v, request.request_id)
        v.check()
        ended = await self._services.sessions.end(call, user_id, session_id)
        response = pb.EndSessionResponse(
            already_ended=ended.already_ended, ingestion_id=ended.ingestion_id, written_at=self._now_at(call)
        )
        if ended.already_ended or not ended.ingestion_id:
            return response
        if not wait:
            self._services.ingestion.look_now()
            return response
        result = await self._services.ingestion.wait(call, user_id, ended.ingestion_id)
        response.MergeFrom(pb.EndSessionResponse(**result_fields(result)))
        response.written_at.CopyFrom(self._written_at(call, result.position))
        return response
