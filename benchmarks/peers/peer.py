"""What each contender has to be able to do."""

from pathlib import Path
from typing import ClassVar, Literal, Protocol

from .corpus import Corpus, Query

Kind = Literal["service", "engine", "reference"]
"""A service is reached over a socket; an engine runs inside the calling process, behind a user filter; a reference
answers less than was asked and shows what is left to gain."""


Found = tuple[int, float, str]
"""Row, score (the more the better) and text of a memory, as Python's own values."""


class Peer(Protocol):
    """One contender, alive from `load` to `close`. Called from one thread.

    Any method may raise what its library raises; the run then goes on without this contender and says why.
    """

    title: ClassVar[str]
    kind: ClassVar[Kind]
    settings: ClassVar[str]
    """How it is set up, for the reader of the table."""

    def load(self, corpus: Corpus, folder: Path) -> None:
        """Start it, store every row with user, text and deletion flag, and build its indexes."""
        ...

    def search(self, query: Query) -> list[Found]:
        """The user's five nearest memories that are not deleted, best first. This is what is timed: what a client hands
        over in a form of its own is read in here."""
        ...

    def version(self) -> str: ...

    def nbytes(self) -> int:
        """What it keeps for the corpus: on disk, or in memory where nothing is on disk."""
        ...

    def close(self) -> None:
        """End what was started. May be called after a `load` that failed."""
        ...


def folder_bytes(folder: Path) -> int:
    """Allocated bytes of all files below a folder, so that a file's holes do not count."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
