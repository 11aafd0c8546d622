"""SessionService, defined once for both clients."""

from collections.abc import Iterable

from memlane.v1 import session_service_pb2 as pb

from ._bind import Bound, unary
from ._calls import Call
from .enums import RememberMode
from .inputs import Consistency, MessageLike, to_consistency, to_message
from .results import Appended, SessionEnded, Window


class SessionMethods(Bound):
    """Short-term memory: the last rounds of a session, word for word."""

    @unary
    def append_messages(
        self,
        user_id: str,
        session_id: str,
        messages: Iterable[MessageLike],
        *,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Call[Appended]:
        """Append to a session; the first append begins it."""
        request = pb.AppendMessagesRequest(
            user_id=user_id, session_id=session_id, messages=[to_message(m) for m in messages]
        )
        return Call("AppendMessages", request, Appended.from_proto, (user_id,), request_id, timeout)

    @unary
    def get_window(
        self,
        user_id: str,
        session_id: str,
        *,
        max_rounds: int = 0,
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[Window]:
        """The last rounds of a session, oldest message first. `max_rounds` 0 = 10."""
        request = pb.GetWindowRequest(
            user_id=user_id,
            session_id=session_id,
            max_rounds=max_rounds,
            consistency=to_consistency(consistency),
        )
        return Call("GetWindow", request, Window.from_proto, (user_id,), timeout=timeout)

    @unary
    def end_session(
        self,
        user_id: str,
        session_id: str,
        *,
        mode: str = RememberMode.WAIT,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Call[SessionEnded]:
        """End a session and offer what was said in it to `remember`, once. In ASYNC mode `get_ingestion` tells what
        came of it."""
        request = pb.EndSessionRequest(
            user_id=user_id,
            session_id=session_id,
            mode=RememberMode.to_wire(mode),
        )
        return Call("EndSession", request, SessionEnded.from_proto, (user_id,), request_id, timeout)
