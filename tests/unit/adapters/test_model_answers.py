"""What models send back instead of what they were asked for, over real HTTP (B09, B10, B11)."""

import json

import pytest

from memlane_core.adapters.openai import AnswerFormat
from memlane_core.domain.errors import ModelAnswerUnusable

from .model_cases import extract, fact, facts, scripted, texts, user
from .model_server import Fails, Says

SAID = 'I like trips. Use ```code``` fences. My pattern is "\\d+" in C:\\temp'

TRIPS = json.dumps(facts(fact("The user likes trips.")))
FENCE_INSIDE = json.dumps(facts(fact("The user uses ```code``` fences")))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(f"```json\n{TRIPS}\n```", "The user likes trips.", id="a-fenced"),
        pytest.param(f"```json\n{TRIPS}\n```\nI left out {{chat}}.", "The user likes trips.", id="b-fence-and-prose"),
        pytest.param(f"```\n{FENCE_INSIDE}\n```", "The user uses ```code``` fences", id="c-fence-inside-a-string"),
        pytest.param('As asked {about trips}: {"facts":["likes trips"]}', "likes trips", id="d-braces-in-prose"),
        pytest.param('{"facts":[{"source":0,"text":"likes trips",},],}', "likes trips", id="e-trailing-commas"),
        pytest.param(
            '{"facts":[{"source":0,"text":"The user\'s pattern is \\"\\\\d+\\" in C:\\\\temp"}]}',
            'The user\'s pattern is "\\d+" in C:\\temp',
            id="f-code-escaped",
        ),
        pytest.param(
            '{"facts":[{"source":0,"text":"The user\'s pattern is "\\d+" in C:\\temp"}]}',
            'The user\'s pattern is "\\d+" in C:\temp',
            id="f-code-badly-escaped",
        ),
        pytest.param('[{"source":0,"text":"The user likes trips."}]', "The user likes trips.", id="bare-list"),
        pytest.param('{"source":0,"text":"The user likes trips."}', "The user likes trips.", id="bare-fact"),
        pytest.param('{"result":{"facts":[{"fact":"likes trips"}]}}', "likes trips", id="wrapped"),
    ],
)  # fmt: skip
async def test_b09_wrapped_json_is_read_in_one_call(answer: str, expected: str) -> None:
    async with scripted() as (server, client):
        server.will(Says(answer))
        extraction = await extract(client, user(SAID))
        assert texts(extraction) == [expected]
        assert not extraction.partial
        assert len(server.asked) == 1


async def test_b09_unreadable_answer_is_repaired_once() -> None:
    async with scripted() as (server, client):
        server.will(Says("I would remember that you like trips."), Says(TRIPS))
        assert texts(await extract(client, user("I like trips"))) == ["The user likes trips."]
        repair = server.asked[1].body["messages"]
        assert [m["role"] for m in repair] == ["system", "user", "assistant", "user"]
        assert repair[2]["content"] == "I would remember that you like trips."
        assert "JSON" in repair[3]["content"]


async def test_b09_what_stays_unreadable_is_an_error_never_empty() -> None:
    async with scripted() as (server, client):
        server.will(Says("no json here"))
        with pytest.raises(ModelAnswerUnusable) as raised:
            await extract(client, user("I like trips"))
        assert len(server.asked) == 2
        assert "no json here" not in str(raised.value)
        assert raised.value.__cause__ is None and raised.value.__context__ is None


async def test_b09_html_with_status_200_is_an_error() -> None:
    async with scripted() as (server, client):
        server.will(Fails(200, "<html>gateway</html>", {"Content-Type": "text/html"}))
        with pytest.raises(ModelAnswerUnusable):
            await extract(client, user("I like trips"))


async def test_b10_whole_facts_of_a_cut_answer_are_kept_and_marked() -> None:
    cut = (
        '{"facts":[{"source":0,"subject":"user","text":"The user has a cat","retraction":false,"expires":null},'
        '{"source":0,"subject":"user","text":"The user has a dog","retraction":false,"expires":null},'
        '{"source":0,"subject":"user","text":"The user has a par'
    )
    async with scripted() as (server, client):
        server.will(Says(cut, "length"))
        extraction = await extract(client, user("I have a cat, a dog and a parrot"))
        assert texts(extraction) == ["The user has a cat", "The user has a dog"]
        assert extraction.partial
        assert len(server.asked) == 1


async def test_b10_answer_cut_before_its_first_fact_gets_twice_the_room() -> None:
    async with scripted(max_output_tokens=100) as (server, client):
        server.will(Says('{"facts":[{"source":0,"text":"The us', "length"), Says(TRIPS))
        extraction = await extract(client, user("I like trips"))
        assert texts(extraction) == ["The user likes trips."] and not extraction.partial
        assert [a.body["max_tokens"] for a in server.asked] == [100, 200]


async def test_b10_nothing_whole_twice_is_an_error() -> None:
    async with scripted() as (server, client):
        server.will(Says('{"facts":[', "length"))
        with pytest.raises(ModelAnswerUnusable):
            await extract(client, user("I like trips"))
        assert len(server.asked) == 2


RIGHT = '{"facts":[{"source":0,"text":"The user likes trips."}]}'
WRONG = '{"facts":[{"source":0,"text":"The user likes trips by wrong."}]}'


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(f"<think>{WRONG}</think>{RIGHT}", id="a"),
        pytest.param(f"<think\n{WRONG} hm </think>\n{RIGHT}", id="c-opening-cut"),
        pytest.param(f"<think{WRONG}</think>{RIGHT}", id="c-opening-cut-at-the-brace"),
        pytest.param(f"< thinking >{WRONG}</ thinking >{RIGHT}", id="c-spaces"),
        pytest.param(f"<thnk>{WRONG}</think>{RIGHT}", id="c-opening-misspelt"),
        pytest.param(f"{WRONG}</think>{RIGHT}", id="c-opening-missing"),
        pytest.param(f"<think>a < b {{ [</think>```json\n{RIGHT}\n```", id="braces-in-reasoning"),
        pytest.param(f"<think>one</think><think>{WRONG}</think>{RIGHT}", id="two-blocks"),
    ],
)
async def test_b11_reasoning_is_never_the_answer(answer: str) -> None:
    async with scripted() as (server, client):
        server.will(Says(answer))
        assert texts(await extract(client, user("I like trips by wrong trains"))) == ["The user likes trips."]
        assert len(server.asked) == 1


async def test_b11_tags_inside_a_fact_are_text() -> None:
    said = "I use <think> and </think> tags in my prompts"
    async with scripted() as (server, client):
        server.will(Says(facts(fact("The user uses <think> and </think> tags in prompts"))))
        assert texts(await extract(client, user(said))) == [
            "The user uses <think> and </think> tags in prompts"
        ]


async def test_b11_reasoning_alone_is_asked_again_then_an_error() -> None:
    async with scripted() as (server, client):
        server.will(Says("", extra={"reasoning_content": WRONG}))
        with pytest.raises(ModelAnswerUnusable, match="only reasoning"):
            await extract(client, user("I like trips"))
        assert len(server.asked) == 2
        assert server.asked[0].body == server.asked[1].body


async def test_b11_reasoning_without_an_end_is_not_an_answer() -> None:
    async with scripted() as (server, client):
        server.will(Says(f"<think>{WRONG}"), Says(RIGHT))
        assert texts(await extract(client, user("I like trips"))) == ["The user likes trips."]


async def test_b11_reasoning_without_its_opening_is_not_an_answer_either() -> None:
    async with scripted() as (server, client):
        server.will(Says(f"{WRONG}</think> I found one fact."), Says(RIGHT))
        assert texts(await extract(client, user("I like trips by wrong trains"))) == ["The user likes trips."]


async def test_refusal_is_not_asked_again() -> None:
    async with scripted() as (server, client):
        server.will(Says(None, extra={"refusal": "I can't"}))
        with pytest.raises(ModelAnswerUnusable, match="refused"):
            await extract(client, user("I like trips"))
        assert len(server.asked) == 1


def _refusing(*words: str) -> Fails:
    return Fails(
        400, {"error": {"message": " ".join(words), "type": "invalid_request_error", "param": words[0]}}
    )


async def test_json_output_falls_back_step_by_step_and_is_remembered() -> None:
    async with scripted() as (server, client):
        server.will(
            _refusing("response_format", "of type json_schema is not supported"),
            _refusing("response_format", "unavailable"),
            Says(TRIPS),
        )
        await extract(client, user("I like trips"))
        await extract(client, user("I like trips"))
        kinds = [a.body.get("response_format", {}).get("type") for a in server.asked]
        assert kinds == ["json_schema", "json_object", None, None]
        assert client.answer_format is AnswerFormat.TEXT


async def test_other_bad_requests_do_not_change_the_format() -> None:
    async with scripted() as (server, client):
        server.will(_refusing("messages", "too long"))
        with pytest.raises(Exception, match="HTTP 400"):
            await extract(client, user("I like trips"))
        assert len(server.asked) == 1
        assert client.answer_format is AnswerFormat.JSON_SCHEMA


async def test_token_parameter_and_temperature_follow_what_the_server_takes() -> None:
    async with scripted(max_output_tokens=50) as (server, client):
        server.will(
            _refusing("max_tokens", "Unsupported parameter: use 'max_completion_tokens' instead."),
            _refusing("temperature", "does not support 0; only the default (1) value is supported"),
            Says(TRIPS),
        )
        await extract(client, user("I like trips"))
        first, last = server.asked[0].body, server.asked[-1].body
        assert first["max_tokens"] == 50 and first["temperature"] == 0.0
        assert last["max_completion_tokens"] == 50
        assert "max_tokens" not in last and "temperature" not in last


async def test_temperature_can_be_left_out() -> None:
    async with scripted(temperature=None, max_output_tokens=None) as (server, client):
        server.will(Says(TRIPS))
        await extract(client, user("I like trips"))
        assert not {"temperature", "max_tokens", "max_completion_tokens"} & server.asked[0].body.keys()
