"""The fixed texts of a context, in both languages; each can be replaced in the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..domain.language import Language


@dataclass(frozen=True, slots=True)
class ContextTemplates:
    """Lines take `{content}` and `{date}` (ISO day on which it was recorded)."""

    rules_header: str
    rule_line: str
    memories_header: str
    memory_line: str
    knowledge_header: str
    knowledge_line: str

    def check(self) -> None:
        """Raises ValueError naming the template whose placeholders are wrong."""
        for name, needed in (
            ("rule_line", ("content",)),
            ("memory_line", ("content", "date")),
            ("knowledge_line", ("content",)),
        ):
            text = getattr(self, name)
            try:
                text.format(content="", date="")
            except (KeyError, IndexError, ValueError) as error:
                raise ValueError(f"template {name}: unknown placeholder or stray brace ({error})") from None
            missing = [n for n in needed if "{" + n + "}" not in text]
            if missing:
                raise ValueError(f"template {name}: {', '.join(missing)} is missing")


_ZH = ContextTemplates(
    rules_header="【行为准则】\n请始终遵守以下规则：",
    rule_line="- {content}",
    memories_header=(
        "【用户历史信息】\n"
        "以下是该用户以往告诉我们的信息，按与当前问题的相关程度排列，并注明记录日期。请在回答时充分参考，"
        "不要重复询问已知内容；记录较早的信息可能已经变化，必要时请先向用户确认。"
    ),
    memory_line="- {content}（记录于 {date}）",
    knowledge_header="【业务知识】\n以下是与问题有关的产品与规则资料，对所有用户适用，不代表该用户的情况：",
    knowledge_line="- {content}",
)
_EN = ContextTemplates(
    rules_header="[RULES]\nAlways follow these rules:",
    rule_line="- {content}",
    memories_header=(
        "[USER HISTORY]\n"
        "What this user told us before, most relevant first, each with the date it was recorded. Take it into account "
        "and do not ask again for what is known; older entries may have changed, so confirm them where it matters."
    ),
    memory_line="- {content} (recorded {date})",
    knowledge_header=(
        "[KNOWLEDGE]\nProduct and policy information on this question. It holds for everyone and says nothing about "
        "this user:"
    ),
    knowledge_line="- {content}",
)
DEFAULT_TEMPLATES: Mapping[Language, ContextTemplates] = MappingProxyType(
    {Language.ZH: _ZH, Language.EN: _EN}
)
