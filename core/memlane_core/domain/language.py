"""Which of the two languages a text is in."""

import re
from enum import StrEnum

_HAN = re.compile("[\u4e00-\u9fff\u3400-\u4dbf]")


class Language(StrEnum):
    ZH = "zh"
    EN = "en"


def is_han(character: str) -> bool:
    """Whether this is a Chinese character (CJK unified ideographs and extension A)."""
    return "\u4e00" <= character <= "\u9fff" or "\u3400" <= character <= "\u4dbf"


def detect(text: str) -> Language:
    """Chinese as soon as a tenth of the letters are Han: Chinese sentences about products carry much Latin."""
    if text.isascii():
        return Language.EN
    # Every Han character is a letter.
    han, letters = len(_HAN.findall(text)), sum(map(str.isalpha, text))
    return Language.ZH if han and han * 10 >= letters else Language.EN
