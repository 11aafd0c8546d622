# ruff: noqa: E501
"""Whether a conversation tells anything at all, or is only talk."""

import re

from ..text.numerals import find_quantities
from .lexicon_en import BUSINESS as BUSINESS_EN
from .lexicon_zh import BUSINESS as BUSINESS_ZH
from .lexicon_zh import CHANNEL, KIN, PERSON

_TELLING_ZH = re.compile(
    rf"喜欢|喜歡|偏好|不吃|不喝|过敏|讨厌|习惯|希望|打算|计划|准备|需要|不想|不要|不碰|接受|担心|怕|决定|同意|住|搬|工作|上班|换了|退休|结婚|离婚|毕业|岁|歲|同意|要求|授权|密码|老家|出生|姓|名字?叫|生日|病|手术|出差|休假|旅游|去网点|{CHANNEL.pattern}"
)
_DOING_ZH = re.compile(
    r"^(?:[\d年月日:-]|当周)*用户(?!就|也?是?来)[^，]{0,10}(?:做|开|想|要|办|转|存|买|卖|用|付|收|借|还|学|读|教|养|管|带|改|签|租|贷)|^用户(?:的[^，]{1,6})?(?:是|在)(?!好奇|想)"
)
_CHATTY_EN = re.compile(
    r"\b(?:silly|bored|coffee|lunch|tea break|train|bus|sleep|asleep|weather|rain|sunny|joking|kidding|lol|haha|chat|hello|hi|app|website|bot|robot|grind|weekend|guess|suppose)\b",
    re.I,
)


def tells_something(content: str, *, chinese: bool) -> bool:
    """The fact is about the customer's life, business or wishes rather than about the moment."""
    if any(not q.weak for q in find_quantities(re.sub(r"20\d\d-\d\d-\d\d", "", content))):
        return True
    if not chinese:
        return BUSINESS_EN.search(content) is not None or (
            "User" in content and not _CHATTY_EN.search(content)
        )
    return (
        BUSINESS_ZH.search(content) is not None
        or _TELLING_ZH.search(content) is not None
        or _DOING_ZH.search(content) is not None
        or any(m["noun"] for m in PERSON.finditer(content))
        or re.search(KIN, content) is not None
    )
