"""The built-in extractor: reads a conversation by rules, without a model."""

import asyncio
import re

from ...domain.conversation import Extraction, Fact, Message, Role
from ...domain.limits import MAX_CONTENT_BYTES
from ...ports.extractor import ExtractionRequest
from ..text.negation import negative
from ..text.normalise import fold, is_chinese
from ..text.numerals import covers, find_quantities
from ..text.secrets import SecretPolicy, redact, scrub_fact
from . import answers_en, answers_zh, reader_en, reader_zh
from .lexicon_en import COMPANY_CUE
from .memo import Memo, Turn
from .substance import tells_something

MAX_FACTS_PER_CONVERSATION = 40
"""More than a customer tells in one conversation; a longer list is a pasted document."""


_SHOWN_CHARACTERS = 80
"""Of a fact that is too long, to recognise it by."""


class RulesExtractor:
    """Implements `ports.extractor.Extractor`. Holds no state between calls; safe for concurrent use."""

    def __init__(self, *, secrets: SecretPolicy = SecretPolicy()) -> None:
        self._secrets = secrets

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """Facts of the user turns, in the order they were said; never raises for what was said.

        Runs on a thread: a long conversation takes tens of milliseconds, which the event loop has not.
        """
        return await asyncio.to_thread(self.read, request)

    def read(self, request: ExtractionRequest) -> Extraction:
        """As `extract`, on the calling thread."""
        memo = Memo(policy=self._secrets)
        memo.business = any(m.role is Role.USER and COMPANY_CUE.search(m.content) for m in request.messages)
        for index, message in enumerate(request.messages):
            if message.role is not Role.USER or not message.content.strip():
                continue
            turn = _turn(request, index, message)
            if _reads_as_chinese(message.content):
                reader_zh.read(turn, memo)
            else:
                reader_en.read(turn, memo)
        return self._finish(memo, request.recalled)

    def _finish(self, memo: Memo, recalled: tuple[str, ...]) -> Extraction:
        facts: list[Fact] = []
        seen: list[str] = []
        if not any(
            d.answered or d.retraction or tells_something(d.content, chinese=d.chinese) for d in memo.drafts
        ):
            for draft in memo.drafts:
                memo.reject(redact(draft.content, self._secrets).text, "small talk")
            memo.drafts.clear()
        for draft in memo.drafts:
            content = _tidy(scrub_fact(draft.content, self._secrets).text)
            if not re.search(r"\w", content):
                continue
            if len(content.encode()) > MAX_CONTENT_BYTES:
                memo.reject(content[:_SHOWN_CHARACTERS], f"longer than {MAX_CONTENT_BYTES} bytes")
                continue
            if any(_repeats(content, text) for text in (*seen, *recalled)):
                memo.reject(redact(content, self._secrets).text, "already known")
                continue
            seen.append(content)
            facts.append(Fact(content, draft.expires_at, source=draft.source, retraction=draft.retraction))
        return Extraction(tuple(facts[:MAX_FACTS_PER_CONVERSATION]), tuple(memo.rejected))


def _turn(request: ExtractionRequest, index: int, message: Message) -> Turn:
    before = [m for m in request.messages[:index] if m.role in (Role.ASSISTANT, Role.USER)]
    answer_to = before[-1].content if before and before[-1].role is Role.ASSISTANT else ""
    asking = answers_zh if _reads_as_chinese(answer_to) else answers_en
    return Turn(
        text=message.content,
        index=index,
        said=message.create_time or request.now,
        question=asking.last_question(answer_to),
        answer_to=answer_to,
        proposals=tuple(m.content for m in reversed(before) if m.role is Role.ASSISTANT),
    )


def _reads_as_chinese(text: str) -> bool:
    """Chinese unless Latin words outweigh the Chinese characters: an English sentence may hold a Chinese name."""
    chinese = len(re.findall(r"[\u4e00-\u9fff]", text))
    return chinese > 0 and chinese >= len(re.findall(r"[A-Za-z]+", text)) * 0.8


def _tidy(content: str) -> str:
    return re.sub(r"\s+", " ", content).strip(" ，,；;：:")


def _repeats(content: str, known: str) -> bool:
    """The known text says all of it: same letters, or the same words with the same numbers and polarity."""
    a, b = fold(content), fold(known)
    if a == b or (a in b and negative(a) == negative(b)):
        return True
    grams_a, grams_b = _grams(a), _grams(b)
    if not grams_a or len(grams_a & grams_b) / len(grams_a) < 0.9:
        return False
    return covers(find_quantities(known), find_quantities(content)) and negative(a) == negative(b)


def _grams(folded: str) -> set[str]:
    letters = re.sub(r"\W", "", folded)
    size = 2 if is_chinese(folded) else 3
    return {letters[i : i + size] for i in range(len(letters) - size + 1)}
