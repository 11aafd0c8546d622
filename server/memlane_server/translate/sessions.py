"""Windows."""

from memlane.v1 import memory_pb2
from memlane_core.domain import limits
from memlane_core.domain.errors import Exhausted
from memlane_core.ports.session_store import Window

from .remember import stored_message

_ANSWER_BYTES = limits.MAX_RESPONSE_MESSAGE_BYTES - 64 * 1024
_MESSAGE_OVERHEAD_BYTES = 64


def window_messages(window: Window) -> list[memory_pb2.Message]:
    """Raises Exhausted for a window that is larger than an answer may be: half a window would look like a whole."""
    size = sum(len(m.message.content.encode()) + _MESSAGE_OVERHEAD_BYTES for m in window.messages)
    if size > _ANSWER_BYTES:
        raise Exhausted(
            f"the window is larger than {_ANSWER_BYTES} bytes: ask for fewer rounds by max_rounds"
        )
    return [stored_message(m) for m in window.messages]
