# ruff: noqa: E501
"""Short Chinese answers completed from the question that they answer."""

import re
from dataclasses import dataclass

import rjieba

from . import lexicon_zh as words
from .memo import Memo
from .persons_zh import pronouns

_LEAD = re.compile(
    r"^(?:(?:好的?|嗯|明白|了解|收到|谢谢|感谢|请问|那么|那|另外|还有|麻烦问一?下|方便(?:问一?下|告知|透露|说一?下)?|想(?:请教|问)一?下|冒昧问一?下|顺便问一?下|可以的?|没问题|欢迎|对了|您好|你好)[，,。！!：: ]*)+"
)
_WH = re.compile(
    r"(?:大概|大约|一般|通常)?(?:是)?(?P<wh>什么(?:时候|样的?|类型的?)?[\u4e00-\u9fffA-Za-z]{0,4}?(?=$|，|的|方|，)|什么时候|什么[\u4e00-\u9fff]{1,5}|哪(?:个|家|里|些|种|位|类|几|一|年|天|月|边|款|项|座|国|只|部分)(?:[\u4e00-\u9fff]{0,4}(?=$|，)|)|多少(?:个|人|钱|家|张|次|年|天|台|套)?|多(?:久|大(?:年纪|岁数|规模|比例)?|长(?:时间)?|高)|几(?:个|家|年|天|次|张|位|口|岁|号|月|点|成|套|台)(?:[\u4e00-\u9fff]{0,2})?|怎么(?:样)?|如何|谁|何时)"
)
_YES_NO = re.compile(
    r"(?:吗|嗎|没有|没|不|呢)[？?]?$|有没有|是不是|能不能|会不会|可不可以|要不要|是否|能否|愿不愿意|需不需要|需要.{0,12}吗"
)
_ABOUT = re.compile(r"^(?:关于)?(?P<topic>[\u4e00-\u9fffA-Za-z]{1,12}?)(?:方面|这块|这边|上)?呢$")
_PREDICATE = re.compile(r"占|是|叫|收到|付|欠|涨|跌|不|没|有|想|做过|开了")
_NUMBERISH = re.compile(
    r"^(?:大概|大约|差不多|约|左右|最多|最少|至少|不到|超过|每\w{1,2})?[\d一二三四五六七八九十两半百千万几]"
)


def last_question(message: str) -> str:
    """The question that an assistant's message ends with, "" if it asks nothing."""
    found = ""
    for match in re.finditer(r"[^。！!？?；;\n]*[？?]", message):
        found = match[0]
    return found.rstrip("？? ").strip()


def is_nominal(text: str) -> bool:
    """A phrase without a predicate: an amount, a name, an enumeration."""
    if text.startswith(("用户", "本行")):
        return False
    if len(text) > 24:
        return False
    if _PREDICATE.search(text):
        return False
    tags = list(rjieba.tag(text))
    return not any(
        t in ("v", "vi", "vg", "a", "vshi", "vyou", "zg", "d", "p", "r")
        and w not in ("左右", "以内", "约", "大概", "差不多")
        for w, t in tags
    )


@dataclass(frozen=True, slots=True)
class Completed:
    """An answer made into a statement. An empty text = it says nothing."""

    text: str
    topical: bool = False
    """It names its topic itself ("期限：三年")."""
    leans: bool = False
    """It has no topic and goes on with what was said before."""


def complete(question: str, answer: str, memo: Memo) -> Completed | None:
    """The answer as a statement; None when it stands by itself.

    Questions of several parts, and answers that are sentences already, are left as they are.
    """
    statement = _spoken_to_user(question, memo)
    if not statement or len(statement) > 40:
        return None
    said = answer.strip("，,。 ")
    if words.NO_LEAD.match(said):
        return _denied(statement, said) if _YES_NO.search(statement) else None
    if words.YES_LEAD.match(said):
        return _affirmed(statement) if _YES_NO.search(statement) else None
    if not said or words.FILLER.match(said) or words.QUESTION_WORDS.search(said):
        return None
    if re.search(r"还是|還是", statement) and said in statement:
        return Completed(f"用户{said}")
    if re.match(r"(?:用户|我|他|她|它|公司|我们|他们|对方)", said):
        return None
    said = re.sub(r"(?:就够了?|就行了?|就好|就可以了?|足够了?|够了)(?=，|$)", "", said) or said
    return _filled(statement, said)


def asked_about(question: str, memo: Memo) -> str:
    """The third person whom the question is about, "" if it is the customer."""
    statement = _spoken_to_user(question, memo)
    return next((p.label for p in reversed(memo.people) if statement.startswith(p.label)), "")


def _filled(statement: str, said: str) -> Completed | None:
    about = _ABOUT.match(statement)
    short = is_nominal(said) or (
        _NUMBERISH.match(said) is not None and not re.search(r"[想要买办借还付]", said)
    )
    if about:
        topic = re.sub(r"(?:方面|这块)$", "", about["topic"])
        return Completed(f"{topic}：{said}", topical=True) if short or len(said) <= 6 else None
    if statement.endswith(("是", "为")) and "和" not in statement:
        return Completed(statement + said)
    found = _WH.search(statement)
    if found:
        return None if "和" in statement else _in_place(statement, found, said, short=short)
    if not _YES_NO.search(statement):
        return None
    head = re.match(
        r"^[\u4e00-\u9fffA-Za-z]{2,8}?(?=高|大|多|够|稳定|固定|紧|急|是|有|在|都|能|会|还|可以|方便|齐)",
        statement,
    )
    if (
        head
        and not head[0].startswith("用户")
        and (short or re.match(r"都|在|大概|约|比较|很|挺|还|不|没", said))
    ):
        return Completed(head[0] + said)
    return Completed(f"{statement.rstrip('吗呢')}：{said}", topical=True) if short else None


def _in_place(statement: str, wh: re.Match[str], said: str, *, short: bool) -> Completed | None:
    """The answer where the question word stood, or behind what was asked about."""
    head = statement[: wh.start("wh")]
    if len(head) >= 2 and said.startswith(head):
        return Completed(said, leans=True)
    tail = re.sub(r"[呢呀啊吗]$", "", statement[wh.end("wh") :])
    counts = wh["wh"].startswith(("多少", "几", "多"))
    if short and (not counts or _NUMBERISH.match(said)):
        middle = (
            re.sub(r"^(?:是|约|大约|大概)+", "", said)
            if head.endswith(("是", "约", "大概", "大约"))
            else said
        )
        return Completed(head + middle + tail)
    if len(said) > 8 and not (counts and short) and not (counts and _NUMBERISH.search(said)):
        return None
    if counts:
        topic = re.sub(r"[是有了约要]+$|大概$|大约$", "", head) + re.sub(r"^的", "", tail)
        if len(topic.removeprefix("用户")) < 2:
            return Completed(said, leans=True)
        return Completed(f"{topic}：{said}", topical=True)
    return Completed(f"{statement}：{said}", topical=True)


def _spoken_to_user(question: str, memo: Memo) -> str:
    """The question about "用户" instead of "您", without its polite beginning."""
    text = _LEAD.sub("", question)
    parts = [p for p in re.split(r"[，,]", text) if p]
    if len(parts) > 1:
        asking = [p for p in parts if words.QUESTION_WORDS.search(p) or p.endswith("呢") or "还是" in p]
        if len(asking) > 1:
            return ""
        if asking and "还是" not in text:
            text = _LEAD.sub("", asking[0])
    text = re.sub(r"^(?:您|你)(?:看|说|觉得)?(?=[^\u4e00-\u9fff])", "", text)
    text = re.sub(r"您们|你们|贵公司|贵司|贵厂|您公司|您们公司", memo.company or "用户的公司", text)
    text = re.sub(r"(?:您|你)(?=(?:父|母|爱人|太太|先生|儿子|女儿|孩子|家人|公司))", "用户的", text)
    text = re.sub(r"您|你", "用户", text)
    return pronouns(text, memo)


def _denied(statement: str, said: str) -> Completed:
    body = re.sub(r"(?:吗|嗎|了没有|没有|了没|没)$", "", statement)
    for asked, answer in (
        ("有没有", "没有"), ("是不是", "不是"), ("能不能", "不能"), ("会不会", "不会"), ("要不要", "不要"), ("可不可以", "不可以"), ("愿不愿意", "不愿意"),
        ("需不需要", "不需要"), ("是否有", "没有"), ("是否", "不"), ("能否", "不能"),
    ):  # fmt: skip
        if asked in body:
            return Completed(body.replace(asked, answer, 1))
    negated = re.sub(r"(?<![没不])(?:已经?)?(有)", r"没有", body, count=1)
    if negated != body:
        return Completed(negated)
    if body.endswith("了"):
        done = re.search(r"([\u4e00-\u9fff]{1,2})(?:好|完|过)?了$", body)
        if done:
            return Completed(body[: done.start()] + "还没" + body[done.start() : -1])
    negated = re.sub(
        r"(?<![没不])(是|能|会|要|可以|愿意|需要|接受|打算|想|考虑|方便|抽|吸|在|用|做|买|懂|熟悉|了解|支持)",
        r"不\1",
        body,
        count=1,
    )
    if negated != body:
        return Completed(re.sub(r"不((?:做|买|用|开|办|接触)过)", r"没\1", negated))
    return Completed(f"{body}：{said}", topical=True)


def _affirmed(statement: str) -> Completed:
    body = re.sub(r"(?:吗|嗎|了没有|没有|了没|没|呢)$", "", statement)
    for asked, answer in (("有没有", "有"), ("是不是", "是"), ("能不能", "能"), ("会不会", "会"), ("要不要", "要"), ("可不可以", "可以"), ("愿不愿意", "愿意"), ("需不需要", "需要"), ("是否", ""), ("能否", "能")):  # fmt: skip
        if asked in body:
            return Completed(body.replace(asked, answer, 1))
    if re.match(r"(?:需要|要|可以|要不要)?(?:我|我们|帮)", body) or "本行" in body:
        return Completed("")
    return Completed(body)
