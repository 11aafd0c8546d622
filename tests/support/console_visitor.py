"""A browser without a screen: it follows links, fills in the forms of a page and sends them as a browser would."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Self
from urllib.parse import urljoin

import httpx2

_FIELDS = frozenset({"input", "textarea", "select"})


@dataclass
class Form:
    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)


class Page(HTMLParser):
    """What a reader finds on a page: its words, links and forms."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(convert_charrefs=True)
        self.response = response
        self.status = response.status_code
        self.forms: list[Form] = []
        self.links: dict[str, str] = {}
        """Targets by text."""
        self.language = ""
        self.text = ""
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        """Tag, name and value of every attribute."""
        self._open_link: str | None = None
        self.feed(response.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in given.items()]
        if tag == "html":
            self.language = given["lang"]
        elif tag == "a":
            self._open_link = given.get("href", "")
        elif tag == "form":
            self.forms.append(Form(given["action"], given["method"]))
        elif tag in _FIELDS and self.forms and "name" in given and given.get("type") != "checkbox":
            self.forms[-1].fields[given["name"]] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._open_link = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open_link is not None and data.strip():
            self.links.setdefault(data.strip(), self._open_link)

    def form(self, action: str) -> Form:
        """The form whose address begins like this."""
        return next(form for form in self.forms if form.action.startswith(action))


class Visitor:
    """`language` is what the browser asks for."""

    def __init__(self, address: str, language: str = "en") -> None:
        self.address = address
        self._http = httpx2.Client(headers={"Accept-Language": language}, timeout=30.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    @property
    def cookies(self) -> httpx2.Cookies:
        return self._http.cookies

    def get(self, path: str, *, follow: bool = True, **parameters: str) -> Page:
        url = urljoin(self.address, path)
        return Page(self._http.get(url, params=parameters or None, follow_redirects=follow))

    def part(self, path: str, **parameters: str) -> Page:
        """As htmx asks."""
        url = urljoin(self.address, path)
        return Page(self._http.get(url, params=parameters or None, headers={"HX-Request": "true"}))

    def send(self, form: Form, **fields: str) -> Page:
        return self.post(form.action, {**form.fields, **fields})

    def post(
        self,
        path: str,
        fields: dict[str, str],
        *,
        follow: bool = True,
        headers: dict[str, str] | None = None,
    ) -> Page:
        url = urljoin(self.address, path)
        return Page(self._http.post(url, data=fields, follow_redirects=follow, headers=headers))

    def raw(self, method: str, path: str, **options: object) -> httpx2.Response:
        return self._http.request(method, urljoin(self.address, path), **options)  # type: ignore[arg-type]
