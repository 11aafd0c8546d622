"""The prompt files: both languages, one version, and their examples in the form that is asked for."""

import json
import re
from importlib import resources

import pytest

from memlane_core.adapters.openai.answers import read_items
from memlane_core.builtin.text.normalise import is_chinese
from memlane_core.prompts import CURRENT_VERSION, Language, load_prompt


@pytest.mark.parametrize("name", list(CURRENT_VERSION))
def test_each_task_has_a_prompt_in_both_languages(name: str) -> None:
    zh, en = (load_prompt(name, language) for language in (Language.ZH, Language.EN))
    assert (zh.version, en.version) == (CURRENT_VERSION[name],) * 2
    assert is_chinese(zh.text) and not is_chinese(en.text)
    # JSON mode is refused by some servers unless the prompt says the word.
    assert "JSON" in zh.text and "JSON" in en.text
    assert not zh.text.startswith("---") and "example_names" not in en.text


def test_every_file_is_a_known_prompt() -> None:
    names = {f.name for f in resources.files("memlane_core.prompts").iterdir() if f.name.endswith(".md")}
    assert all(re.fullmatch(r"(extraction|decision|repair)\.v\d+\.(zh|en)\.md", name) for name in names)
    assert len(names) >= 6


def test_an_unknown_version_is_not_found() -> None:
    with pytest.raises(FileNotFoundError):
        load_prompt("extraction", Language.ZH, version=99)


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize(
    ("name", "key", "fields"),
    [
        ("extraction", "facts", {"source", "subject", "text", "retraction", "expires"}),
        ("decision", "decisions", {"fact", "action", "target", "text", "reason"}),
    ],
)
def test_the_example_follows_the_schema(name: str, key: str, fields: set[str], language: Language) -> None:
    example = load_prompt(name, language).text.splitlines()[-1]
    assert json.loads(example).keys() == {key}
    found = read_items(example, key, frozenset())
    assert found is not None and found.complete and len(found.items) == 2
    assert all(isinstance(item, dict) and item.keys() == fields for item in found.items)
