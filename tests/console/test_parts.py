"""Parts of the console on their own: words, languages, differences, fields, sessions."""

import json
import re
import string
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from zoneinfo import ZoneInfo

import httpx2
import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from memlane_core.domain.errors import FailedPrecondition
from memlane_core.index import IndexStats
from memlane_server.auth import AuthSettings, ClientCertificate
from memlane_server.cli.main import app
from memlane_server.config import ServerSettings, Settings
from memlane_server.console import languages
from memlane_server.console.compare import Part, parts
from memlane_server.console.forms import Fields
from memlane_server.console.languages import TEXTS, choose
from memlane_server.console.problems import FieldWrong
from memlane_server.console.server import Console
from memlane_server.console.sessions import MAX_SESSIONS, Sessions
from memlane_server.console.settings import ConsoleSettings
from memlane_server.console.show import spelled
from memlane_server.health import HealthBoard
from memlane_server.principal import Principal, single

_FOLDER = files("memlane_server.console")


def names(text: str) -> set[str | None]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def test_both_languages_say_everything() -> None:
    zh, en = TEXTS["zh"].table, TEXTS["en"].table
    assert set(zh) == set(en)
    for key in en:
        assert names(zh[key]) == names(en[key]), key
        assert zh[key].strip() and en[key].strip(), key
    assert all(re.search(r"[\u4e00-\u9fff]", text) for text in zh.values())
    assert not [key for key, text in en.items() if re.search(r"[\u4e00-\u9fff]", text)]


def test_every_word_of_a_template_is_in_the_tables() -> None:
    templates = [f for f in _FOLDER.joinpath("templates").iterdir() if f.name.endswith(".html")]
    assert len(templates) > 10
    for template in templates:
        source = template.read_text(encoding="utf-8")
        for key in re.findall(r"""\bt\((["'])([a-zA-Z_.]+)\1\s*[,)]""", source):
            assert key[1] in TEXTS["en"].table, (template.name, key[1])
        shown = re.sub(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<[^>]*>", " ", source, flags=re.DOTALL)
        assert not re.findall(r"[A-Za-z\u4e00-\u9fff]{2,}", shown.replace("memlane", "")), template.name


@pytest.mark.parametrize(
    ("chosen", "accepted", "language"),
    [
        ("", "", "en"),
        ("", "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("", "en-GB,zh;q=0.9", "en"),
        ("", "fr-FR, zh-Hant;q=0.2", "zh"),
        ("", "de", languages.DEFAULT),
        ("", "zh;q=0, en;q=0.1", "en"),
        ("", "zh;q=high", "en"),
        ("zh", "en", "zh"),
        ("xx", "zh", "zh"),
    ],
)
def test_the_language_is_the_one_asked_for(chosen: str, accepted: str, language: str) -> None:
    assert choose(chosen, accepted) == language


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("有两个孩子", "有三个孩子了"),
        ("pays 50,000 dollars a month", "pays 60,000 euros a month"),
        ("", "new"),
        ("old", ""),
        ("same", "same"),
        ("emoji 👍\n\ttab", "emoji 👎\ntab "),
    ],
)
def test_a_difference_holds_both_texts(old: str, new: str) -> None:
    found = parts(old, new)
    assert "".join(p.text for p in found if p.kind != "added") == old
    assert "".join(p.text for p in found if p.kind != "removed") == new


def test_a_number_changes_as_a_whole() -> None:
    assert parts("预算50万", "预算60万") == [
        Part("same", "预算"),
        Part("removed", "50"),
        Part("added", "60"),
        Part("same", "万"),
    ]


def test_fields_are_read_strictly() -> None:
    fields = Fields({"n": " 7 ", "bad": "7.5", "huge": str(2**31), "x": "0.5", "m": "2026-03-01T09:00"})
    assert fields.number("n") == 7 and fields.number("missing") == 0
    assert fields.decimal("x") == 0.5 and fields.decimal("missing") is None
    moment = fields.moment("m", ZoneInfo("Asia/Shanghai"))
    assert moment is not None and moment.ToDatetime(UTC) == datetime(2026, 3, 1, 1, tzinfo=UTC)
    for read in (
        lambda: fields.number("bad"),
        lambda: fields.number("huge"),
        lambda: fields.decimal("m"),
        lambda: fields.moment("n", UTC),
    ):
        with pytest.raises(FieldWrong):
            read()


def test_what_cannot_be_seen_is_spelled_out() -> None:
    assert spelled("客户 林-知夏") == "客户 林-知夏"
    assert spelled("a\nb\u200bc\u202ed\u00a0e") == r"a\nb\u200bc\u202ed\u00a0e"


def test_sessions_end_when_idle_and_are_bounded() -> None:
    now = 0.0
    sessions = Sessions(60.0, now=lambda: now)
    first = sessions.open("token-1")
    now = 50.0
    assert sessions.token(first) == "token-1"
    now = 100.0
    assert sessions.token(first, used=False) == "token-1"
    now = 111.0
    assert sessions.token(first) is None
    oldest = sessions.open("token-2")
    for n in range(MAX_SESSIONS):
        now += 0.001
        sessions.open(f"token-{n}")
    assert sessions.token(oldest) is None


def test_form_tokens_belong_to_one_session_and_one_process() -> None:
    sessions = Sessions(60.0)
    assert sessions.is_form_token("a", sessions.form_token("a"))
    assert not sessions.is_form_token("b", sessions.form_token("a"))
    assert not Sessions(60.0).is_form_token("a", sessions.form_token("a"))


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.4", "localhost", "::", ""])
def test_the_console_listens_on_loopback_only(host: str) -> None:
    with pytest.raises(ValidationError, match="loopback"):
        ConsoleSettings(host=host)
    assert ConsoleSettings(host="::1").host == "::1"


def console(settings: Settings) -> Console:
    empty = IndexStats(users=0, rows=0, bytes=0, budget_bytes=2**20, hits=0, misses=0, evictions=0)
    return Console(settings, (), single(Principal("bank", "op")), HealthBoard(), lambda: empty)


def on_port(port: int) -> Console:
    return console(Settings(console=ConsoleSettings(enabled=True, port=port)))


async def test_the_port_is_taken_once_and_given_back() -> None:
    first = on_port(0)
    address = await first.start()
    port = int(address.rstrip("/").rpartition(":")[2])
    async with httpx2.AsyncClient() as http:
        assert (await http.get(address)).status_code == 200
        with pytest.raises(FailedPrecondition, match=f"console.port {port} is taken on 127.0.0.1"):
            await on_port(port).start()
        await first.stop()
        with pytest.raises(httpx2.ConnectError):
            await http.get(address)
    again = on_port(port)
    assert await again.start() == address
    await again.stop()


def test_a_console_that_nobody_could_sign_in_to_is_refused() -> None:
    client = ClientCertificate(common_name="gateway", tenant="bank", scopes=("admin",))
    tls = ServerSettings(
        tls_certificate=Path("server.pem"),
        tls_key=Path("server-key.pem"),
        tls_client_ca=Path("ca.pem"),
        tls_client_auth="required",
    )
    with pytest.raises(FailedPrecondition, match="signs in with tokens"):
        console(Settings(server=tls, auth=AuthSettings(clients=(client,))))


@pytest.mark.parametrize(("flag", "enabled"), [("--console", True), ("--no-console", False)])
def test_the_command_line_switches_it(flag: str, enabled: bool) -> None:
    shown = CliRunner().invoke(app, ["serve", flag, "--print-config"])
    assert json.loads(shown.stdout)["console"]["enabled"] is enabled
