"""Chinese or English: chosen by the visitor, otherwise by the browser."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

LANGUAGE_COOKIE = "memlane_language"
LANGUAGE_PARAMETER = "lang"


@dataclass(frozen=True, slots=True)
class Texts:
    """All words of the console in one language."""

    tag: str
    """As HTML's `lang` wants it."""
    table: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """Raises KeyError for a text that is not there."""
        text = self.table[key]
        return text.format(**values) if values else text

    def label(self, group: str, name: str) -> str:
        """The word for a name of the API; the name itself where the console does not know it (yet)."""
        return self.table.get(f"{group}.{name}", name)


def _read(name: str, tag: str) -> Texts:
    """A table of texts/: sections of keys, here by `section.key`."""
    sections = tomllib.loads(files(__package__).joinpath("texts", name).read_text(encoding="utf-8"))
    return Texts(tag, {f"{s}.{key}": text for s, keys in sections.items() for key, text in keys.items()})


TEXTS: Mapping[str, Texts] = {"zh": _read("zh.toml", "zh-CN"), "en": _read("en.toml", "en")}
DEFAULT = "en"


def choose(chosen: str, accept_language: str) -> str:
    """Code of the language to answer in. `accept_language` as in RFC 9110, 12.5.4."""
    if chosen in TEXTS:
        return chosen
    best, best_weight = DEFAULT, 0.0
    for part in accept_language.split(",")[:20]:
        tag, _, parameter = part.strip().partition(";")
        weight = _weight(parameter)
        code = tag.strip().lower().split("-")[0]
        if code in TEXTS and weight > best_weight:
            best, best_weight = code, weight
    return best


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
