"""Which of the two languages a text is in."""

from enum import StrEnum


class Language(StrEnum):
    ZH = "zh"
    EN = "en"


def is_han(character: str) -> bool:
    """Whether this is a Chinese character (CJK unified ideographs and extension A)."""
    return "\u4e00" <= character <= "\u9fff" or "\u3400" <= character <= "\u4dbf"


def detect(text: str) -> Language:
    """Chinese as soon as a tenth of the letters are Han: Chinese sentences about products carry much Latin."""
    han = letters = 0
    for character in text:
        if is_han(character):
            han += 1
            letters += 1
        elif character.isalpha():
            letters += 1
    return Language.ZH if han and han * 10 >= letters else Language.EN
