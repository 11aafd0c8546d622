"""ContextService."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from memlane.v1 import context_service_pb2 as pb
from memlane_core.ports.chat_model import ChatDelta
from memlane_core.services.call import Call
from memlane_core.services.context import BuiltContext

from ..translate.context import chat_command, context_command, context_message, done_message
from .base import Servicer


class ContextServicer(Servicer):
    async def BuildContext(self, request: pb.BuildContextRequest, call: Call) -> bytes:
        command = context_command(request, self._services.search.dimension)
        await self._services.positions.ensure(call, command.user_id, command.consistency)
        read_at = self._services.positions.current_token(call.tenant)
        return context_message(await self._services.context.build(call, command), read_at)

    async def Chat(self, request: pb.ChatRequest, call: Call) -> AsyncIterator[pb.ChatResponse]:
        services = self._services
        stamp = self._stamp("Chat", request)
        command = chat_command(request, stamp, services.search.dimension, self._received())
        await services.positions.ensure(call, command.context.user_id, command.context.consistency)
        read_at = services.positions.current_token(call.tenant)
        async with aclosing(services.chat.chat(call, command)) as events:
            async for event in events:
                if isinstance(event, BuiltContext):
                    context = pb.BuildContextResponse.FromString(context_message(event, read_at))
                    yield pb.ChatResponse(context=context)
                elif isinstance(event, ChatDelta):
                    yield pb.ChatResponse(delta=event.text)
                else:
                    written_at = services.positions.current_token(call.tenant)
                    yield pb.ChatResponse(done=done_message(event, written_at))
