"""Showing a token once, instead of with every page."""

from starlette.responses import Response

from memlane_core.domain.errors import Unauthenticated

from ..dispatch import context_of
from ..problems import Problem
from ..site import SESSION_COOKIE, Visit


async def form(visit: Visit) -> Response:
    if visit.principal is not None:
        return visit.redirect("/")
    return visit.page("sign_in.html", problem=None)


async def sign_in(visit: Visit) -> Response:
    token = visit.form.line("token")
    try:
        visit.site.caller(context_of(token))
    except Unauthenticated as error:
        texts = visit.texts
        reason = f"error.{error.reason}"
        title = texts(reason if reason in texts.table else "error.UNAUTHENTICATED", scope="")
        problem = Problem(401, title, technical=f"{error.reason}: {error.message}")
        return visit.page("sign_in.html", 401, problem=problem)
    visit.site.sessions.close(visit.session_id)
    response = visit.redirect(own_address(visit.query["next"]))
    response.set_cookie(SESSION_COOKIE, visit.site.sessions.open(token), httponly=True, samesite="strict")
    return response


async def sign_out(visit: Visit) -> Response:
    visit.site.sessions.close(visit.session_id)
    response = visit.redirect("/sign-in" if visit.site.signs_in else "/")
    response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict")
    return response


def own_address(wanted: str) -> str:
    """The address if it is one of this site, else the start."""
    own = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if own else "/"
