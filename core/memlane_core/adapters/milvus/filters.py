"""The only place where values get into Milvus filter expressions.

Milvus has filter templates, but neither Milvus Lite 3.2 nor Milvus 2.3 takes them, so values are quoted here.
Both engines read a double-quoted literal in which backslash, double quote, newline, carriage return and tab are
escaped, and every other code point, NUL included, stands for itself; `\\uXXXX` escapes as JSON writes them fail
on Lite, and on the server for characters beyond the BMP.
"""

from collections.abc import Iterable

from ...domain.errors import InvalidArgument

NOT_DELETED = "is_deleted == false"
ANYTHING = 'memory_id != ""'
"""Every row; a query without a filter needs a limit on a server."""

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def quote(value: str, *, field: str) -> str:
    """The value as a string literal of a filter. Raises InvalidArgument naming `field` for text that is not
    Unicode (lone surrogates), which no row can hold either."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument.of(field, "is not valid Unicode") from None
    return f'"{value.translate(_ESCAPES)}"'


def equals(field: str, value: str) -> str:
    """Rows whose column is byte for byte this value."""
    return f"{field} == {quote(value, field=field)}"


def any_of(field: str, values: Iterable[str]) -> str:
    """Rows whose column is one of these values."""
    return f"{field} in [{', '.join(quote(value, field=field) for value in values)}]"


def visible_at(now: int) -> str:
    """Rows neither deleted nor expired at this Unix second."""
    return f"{NOT_DELETED} and (ttl < 0 or ttl > {int(now)})"
