"""Routes, and what happens around each view: language, session, form token, problems."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from grpc import StatusCode
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope

from memlane_core.domain.errors import Unauthenticated

from .dispatch import CallRefused, context_of
from .forms import form_of, query_of
from .guard import SAFE_METHODS, Guard
from .languages import LANGUAGE_COOKIE, LANGUAGE_PARAMETER, TEXTS, choose
from .problems import FormError, Problem, problem_of_form
from .site import SESSION_COOKIE, Site, Visit
from .views import audit, forget, ingestions, query, sign_in, status, users

View = Callable[[Visit], Awaitable[Response]]

_VIEWS: Mapping[str, tuple[str, View]] = {
    "/": ("GET", users.find),
    "/memories": ("GET", users.memories),
    "/history": ("GET", users.history),
    "/query": ("GET", query.form),
    "/query/try": ("POST", query.attempt),
    "/ingestions": ("GET", ingestions.listing),
    "/ingestion": ("GET", ingestions.one),
    "/ingestions/retry": ("POST", ingestions.retry),
    "/audit": ("GET", audit.events),
    "/audit/verify": ("POST", audit.verify),
    "/forget": ("GET", forget.form),
    "/forget/order": ("POST", forget.order),
    "/status": ("GET", status.show),
    "/sign-out": ("POST", sign_in.sign_out),
}
_LANGUAGE_SECONDS = 365 * 86_400


def application(site: Site) -> ASGIApp:
    routes = [Route(path, _endpoint(site, view), methods=[method]) for path, (method, view) in _VIEWS.items()]
    routes += [
        Route("/sign-in", _endpoint(site, sign_in.form, signed_in=False), methods=["GET"]),
        Route("/sign-in", _endpoint(site, sign_in.sign_in, signed_in=False), methods=["POST"]),
    ]

    async def no_page(request: Request, error: Exception) -> Response:
        visit = _visit(site, request)
        return visit.problem(Problem(404, visit.texts("problem.no_page")))

    async def unforeseen(request: Request, error: Exception) -> Response:
        # The server around this one logs the type and place of the error.
        visit = _visit(site, request)
        return visit.problem(Problem(500, visit.texts("error.INTERNAL")))

    return Guard(
        Starlette(
            routes=[*routes, Mount("/static", _Static(packages=[(__package__, "static")]))],
            exception_handlers={404: no_page, 405: no_page, Exception: unforeseen},
        )
    )


class _Static(StaticFiles):
    """Files of ours. Their addresses carry a digest, so that they may be kept for long."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
        return response


def _endpoint(site: Site, view: View, *, signed_in: bool = True) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        visit = _visit(site, request)
        try:
            visit = replace(visit, query=query_of(request))
            if request.method not in SAFE_METHODS:
                visit = replace(visit, form=await form_of(request))
                if not site.sessions.is_form_token(visit.session_id, visit.form["form_token"]):
                    return visit.problem(Problem(403, visit.texts("problem.stale_form")))
            if signed_in and visit.principal is None:
                return _to_sign_in(visit)
            return _in_language(visit, await view(visit))
        except FormError as error:
            return visit.problem(problem_of_form(error, visit.texts))
        except CallRefused as refused:
            if refused.code is StatusCode.UNAUTHENTICATED and site.signs_in:
                return _to_sign_in(visit)
            return visit.problem(refused)

    return endpoint


def _visit(site: Site, request: Request) -> Visit:
    """Who it is and how to speak to them; what they sent is read later."""
    session_id = request.cookies.get(SESSION_COOKIE, "")
    token = site.sessions.token(session_id, used="poll" not in request.query_params)
    principal = None
    if token is not None or not site.signs_in:
        try:
            principal = site.caller(context_of(token))
        except Unauthenticated:
            # The token has expired, or its key was withdrawn.
            site.sessions.close(session_id)
            token = None
    if token is None:
        session_id = ""
    language = request.query_params.get(LANGUAGE_PARAMETER) or request.cookies.get(LANGUAGE_COOKIE, "")
    return Visit(
        site=site,
        request=request,
        language=choose(language, request.headers.get("accept-language", "")),
        session_id=session_id,
        token=token,
        principal=principal,
        form_token=site.sessions.form_token(session_id),
    )


def _to_sign_in(visit: Visit) -> Response:
    url = visit.request.url
    wanted = f"{url.path}?{url.query}" if url.query else url.path
    response = visit.redirect("/sign-in", next=wanted if visit.request.method in SAFE_METHODS else "")
    response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict")
    return response


def _in_language(visit: Visit, response: Response) -> Response:
    """Keeps a language that was chosen in the address."""
    chosen = visit.query[LANGUAGE_PARAMETER]
    if chosen in TEXTS:
        response.set_cookie(
            LANGUAGE_COOKIE, chosen, max_age=_LANGUAGE_SECONDS, httponly=True, samesite="strict"
        )
    return response
