"""Telling what a model answers from what it thinks aloud.

Models that reason put it in front of the answer, between tags that servers leave in the text, and not
always whole.
"""

import re
from enum import Enum

_NAMES = r"(?:think(?:ing)?|thought|reason(?:ing)?)"
OPENING = re.compile(rf"<\s*\|?\s*{_NAMES}\b[^<>{{\[]{{0,40}}>?|◁think▷", re.IGNORECASE)
"""Also without its closing bracket, as some chat templates cut it."""
CLOSING = re.compile(rf"<\s*\|?\s*/\s*{_NAMES}\b\s*\|?\s*>?|◁/think▷", re.IGNORECASE)
_MAY_BECOME_OPENING = re.compile(r"(?:<[\s|]*[a-z]{0,9}\s*|◁[a-z]{0,5})\Z", re.IGNORECASE)
_LONGEST_TAG = 64


class _State(Enum):
    LEADING = 1
    """Nothing of the answer came yet."""
    REASONING = 2
    ANSWER = 3


class ReasoningFilter:
    """Takes an answer piece by piece and gives back what is not reasoning in front of it.

    A leading block between tags is left out whole. Tags further back are part of the answer: it may be
    about them.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = _State.LEADING

    def feed(self, piece: str) -> str:
        """The text that can be shown now; "" while it is open whether this is reasoning."""
        if self._state is _State.ANSWER:
            return piece
        self._held += piece
        while True:
            if self._state is _State.LEADING:
                text = self._held.lstrip()
                opening = OPENING.match(text)
                if opening and (opening[0][-1] in ">▷" or len(text) > _LONGEST_TAG):
                    self._state, self._held = _State.REASONING, text[opening.end() :]
                elif not text or opening or _MAY_BECOME_OPENING.match(text):
                    return ""
                else:
                    self._state, self._held = _State.ANSWER, ""
                    return text
            closing = CLOSING.search(self._held)
            if closing is None or (closing[0][-1] not in ">▷" and closing.end() == len(self._held)):
                # Reasoning is dropped as it comes; the last bit stays, since a tag may be arriving in pieces.
                self._held = self._held[-_LONGEST_TAG:]
                return ""
            self._state, self._held = _State.LEADING, self._held[closing.end() :]

    def finish(self) -> str:
        """What was held back and turned out to be text after all."""
        held = self._held.lstrip()
        return held if self._state is _State.LEADING and not OPENING.match(held) else ""
