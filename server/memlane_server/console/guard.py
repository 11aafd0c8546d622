"""What holds for every request before it reaches a view: where it comes from, and what the answer may do."""

from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = frozenset({"GET", "HEAD"})

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # Not no-referrer: with that a browser sends its forms with the origin null.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Guard:
    """An ASGI middleware.

    The Host must be a loopback name, so that a foreign name that was made to point at this machine (DNS rebinding)
    gets nothing. A change must come from the page itself; from other sites only a followed link is answered.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                # Pages hold what customers said; nothing of them may stay on a disk.
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = refusal_of(scope["method"], Headers(scope=scope))
        app: Any = self._app if refusal is None else PlainTextResponse(refusal, status_code=403)
        await app(scope, receive, send_guarded)


def refusal_of(method: str, headers: Headers) -> str | None:
    """Why a request is not answered; None where nothing speaks against it."""
    host = headers.get("host", "")
    if not _is_loopback(host):
        return "The console answers under a loopback name only, as 127.0.0.1 or localhost."
    site = headers.get("sec-fetch-site", "none")
    if method in SAFE_METHODS:
        followed = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if site in ("same-origin", "none") or followed:
            return None
        return "Another site may link to the console and not load it."
    origin = headers.get("origin")
    if site not in ("same-origin", "none") or (origin is not None and not _is_origin(origin, host)):
        return "Changes are taken from the console's own pages only."
    return None


def _is_loopback(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def _is_origin(origin: str, host: str) -> bool:
    # https as well: a tunnel may end TLS in front of this port.
    return origin.lower() in (f"http://{host}".lower(), f"https://{host}".lower())
