"""The port of limits that depend on who calls."""

from typing import Protocol

from .principal import Principal


class Limiter(Protocol):
    """Bounds on what one tenant or user may ask for at once or per second. Used on the event loop."""

    def enter(self, principal: Principal, path: str, user_id: str, weight: int = 1) -> None:
        """Raises Exhausted or Overloaded; otherwise `leave` must follow. `user_id` is "" where a call names no one
        user, `weight` as how many calls it counts."""

    def leave(self, principal: Principal, path: str, user_id: str) -> None:
        """The call that entered has ended."""

    def open_stream(self, principal: Principal) -> None:
        """Raises Exhausted; otherwise `close_stream` must follow. Each request of the stream enters by itself."""

    def close_stream(self, principal: Principal) -> None:
        """The stream has ended."""
