"""A reader for JSON as models write it: nearly right, or cut off.

It forgives trailing commas, raw line breaks in strings, unknown escapes, unescaped quotes inside strings
and Python's literals; it keeps what was complete where the text ends early. Plain `json` is to be tried
first.
"""

import json
import re
from dataclasses import dataclass

_MAX_DEPTH = 24
_SPACE = re.compile(r"\s*")
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|[A-Za-z]+")
_LITERALS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


_UNICODE_ESCAPE = re.compile(r"\\u(?:[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|[0-9a-fA-F]{4})")


class NotJson(ValueError):
    """What stands here is not JSON, not even nearly."""


@dataclass(frozen=True, slots=True)
class Parsed:
    value: object
    end: int
    """Position behind the value."""
    complete: bool
    """False: the text ended inside the value. Elements and members that were cut are left out of it."""


def parse_at(text: str, start: int) -> Parsed:
    """The value that begins at `start`. Raises NotJson."""
    return _Reader(text).value(start, 0)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, at: int, depth: int) -> Parsed:
        at = self._skip_space(at)
        if depth > _MAX_DEPTH:
            raise NotJson("nested too deeply")
        if at >= len(self._text):
            return Parsed(None, at, complete=False)
        match self._text[at]:
            case "{":
                return self._object(at + 1, depth)
            case "[":
                return self._array(at + 1, depth)
            case '"':
                return self._string(at + 1)
            case _:
                return self._scalar(at)

    def _object(self, at: int, depth: int) -> Parsed:
        members: dict[str, object] = {}
        while True:
            at = self._skip_space(at)
            if at >= len(self._text):
                return Parsed(members, at, complete=False)
            if self._text[at] == "}":
                return Parsed(members, at + 1, complete=True)
            if self._text[at] != '"':
                raise NotJson("a member's name is missing")
            name = self._string(at + 1)
            at = self._skip_space(name.end)
            if not name.complete or at >= len(self._text):
                return Parsed(members, at, complete=False)
            if self._text[at] != ":":
                raise NotJson("a colon is missing")
            value = self.value(at + 1, depth + 1)
            at = value.end
            if not value.complete:
                # Only a list may stay behind unfinished: its elements so far are whole.
                if depth == 0 and isinstance(value.value, list):
                    members[str(name.value)] = value.value
                return Parsed(members, at, complete=False)
            members[str(name.value)] = value.value
            at = self._behind_comma(at, "}")

    def _array(self, at: int, depth: int) -> Parsed:
        elements: list[object] = []
        while True:
            at = self._skip_space(at)
            if at >= len(self._text):
                return Parsed(elements, at, complete=False)
            if self._text[at] == "]":
                return Parsed(elements, at + 1, complete=True)
            value = self.value(at, depth + 1)
            at = value.end
            if not value.complete:
                return Parsed(elements, at, complete=False)
            elements.append(value.value)
            at = self._behind_comma(at, "]")

    def _behind_comma(self, at: int, closing: str) -> int:
        at = self._skip_space(at)
        if at >= len(self._text) or self._text[at] == closing:
            return at
        if self._text[at] != ",":
            raise NotJson("a comma is missing")
        return at + 1

    def _string(self, at: int) -> Parsed:
        """`at` is behind the opening quote."""
        pieces: list[str] = []
        while at < len(self._text):
            char = self._text[at]
            if char == '"' and self._closes(at):
                return Parsed("".join(pieces), at + 1, complete=True)
            if char == "\\" and at + 1 < len(self._text):
                piece, at = self._escape(at)
                pieces.append(piece)
            else:
                pieces.append(char)
                at += 1
        return Parsed("".join(pieces), at, complete=False)

    def _closes(self, at: int) -> bool:
        """Whether the quote at `at` ends the string: only if something follows that may follow a string."""
        behind = self._skip_space(at + 1)
        return behind >= len(self._text) or self._text[behind] in ",:}]"

    def _escape(self, at: int) -> tuple[str, int]:
        char = self._text[at + 1]
        if char == "u":
            match = _UNICODE_ESCAPE.match(self._text, at)
            if match:
                return str(json.loads(f'"{match[0]}"')), match.end()
        # An escape that JSON does not know was meant literally (a path, a pattern).
        return _ESCAPES.get(char, "\\" + char), at + 2

    def _scalar(self, at: int) -> Parsed:
        match = _SCALAR.match(self._text, at)
        if match is None:
            raise NotJson("a value is missing")
        word = match[0]
        # At the very end a number may go on: "1" of "15".
        complete = match.end() < len(self._text)
        if word in _LITERALS:
            return Parsed(_LITERALS[word], match.end(), complete)
        if word[0].isalpha():
            raise NotJson("a bare word")
        return Parsed(json.loads(word), match.end(), complete)

    def _skip_space(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return match.end() if match else at
