"""What the views share: who visits, in which language, with what, and how an answer is made."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import unquote

from google.protobuf.message import Message
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from memlane_core.index import IndexStats

from ..health import HealthBoard
from ..principal import Caller, Principal
from .dispatch import CallRefused, Dispatcher
from .forms import Fields
from .guard import SAFE_METHODS
from .languages import LANGUAGE_PARAMETER, TEXTS, Texts
from .problems import Problem, problem_of
from .sessions import Sessions
from .show import Shown, address, globals_of

SESSION_COOKIE = "memlane_console"

R = TypeVar("R", bound=Message)


@dataclass(frozen=True, slots=True)
class Site:
    """What the console is made of."""

    dispatcher: Dispatcher
    caller: Caller
    sessions: Sessions
    board: HealthBoard
    index: Callable[[], IndexStats]
    zone: tzinfo
    """In which times are shown and read."""
    signs_in: bool
    """Visitors must show a token; otherwise every visitor is the one configured principal, as over gRPC."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One request. `form` is what a POST carried."""

    site: Site
    request: Request
    language: str
    session_id: str = field(repr=False)
    """"" = there is none."""
    token: str | None = field(repr=False)
    """The visitor's bearer token."""
    principal: Principal | None
    """Who that is; None = not signed in."""
    form_token: str = field(repr=False)
    query: Fields = field(default_factory=Fields)
    form: Fields = field(default_factory=Fields)

    @property
    def texts(self) -> Texts:
        return TEXTS[self.language]

    @property
    def user_id(self) -> str:
        """The user whom the address names, byte for byte."""
        return unquote(self.query["user_id_quoted"], errors="strict") or self.query["user_id"]

    @property
    def partial(self) -> bool:
        """Only a part of the page is asked for (by htmx)."""
        return "hx-request" in self.request.headers and "hx-boosted" not in self.request.headers

    @property
    def target(self) -> str:
        """Id of the part that the answer replaces. An answer in its place must have it again, for the next one."""
        target = self.request.headers.get("hx-target", "")
        return target if self.partial and target.isalpha() else ""

    def may(self, *scopes: str) -> bool:
        """Whether it makes sense to ask. What is allowed is decided by the call itself."""
        return self.principal is not None and self.principal.scopes.issuperset(scopes)

    def same(self, **changed: str) -> str:
        """Address of this page with some parameters changed."""
        return address(self.request.url.path, **{**self.query, **changed})

    def in_language(self, code: str) -> str:
        """Address of this page in another language; of an answer to a form that of the form's page."""
        path, method = self.request.url.path, self.request.method
        parameters = {**self.query, LANGUAGE_PARAMETER: code}
        return address(path if method in SAFE_METHODS else path.rpartition("/")[0] or path, **parameters)

    async def call(self, rpc: str, request: Message, response: type[R]) -> R:
        """A call of the API as this visitor. Raises CallRefused."""
        return await self.site.dispatcher.call(self.token, rpc, request, response)

    def page(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A whole page, or the block `part` of it where htmx asks for that."""
        shown = Shown(self.texts, self.site.zone)
        names: dict[str, Any] = {
            "visit": self,
            "t": self.texts,
            "languages_known": TEXTS,
            "section": "",
            **globals_of(shown),
            **values,
        }
        page = environment().get_template(template)
        names["parts"] = environment().get_template("parts.html").make_module(names)
        if self.partial and "part" in page.blocks:
            context = page.new_context(names)
            html = "".join(page.blocks["part"](context))
        else:
            html = page.render(names)
        return HTMLResponse(html, status_code=status, headers={"Vary": "HX-Request, Cookie, Accept-Language"})

    def problem(self, error: CallRefused | Problem) -> HTMLResponse:
        """What went wrong, in words, in the place of what was asked for."""
        problem = problem_of(error, self.texts) if isinstance(error, CallRefused) else error
        return self.page("problem.html", problem.status, problem=problem)

    def redirect(self, path: str, **parameters: str) -> Response:
        """Another page next, also where htmx asked for a part of this one."""
        target = address(path, **parameters)
        if self.partial:
            return Response(headers={"HX-Redirect": target})
        return RedirectResponse(target, status_code=303)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Templates. Everything that is put into one is escaped."""
    return Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
