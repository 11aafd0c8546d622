"""Making Milvus Lite drop the texts of removed rows from its files.

Lite merges data files only when four of about one size have gathered, and offers no call that would do it now
(`compact` answers success and does nothing), so purged and overwritten rows stay in old files for as long as
nobody writes. What it does do at once is drop a collection with all its files. So: copy the rows that remain into
a new collection, and put that one in the place of the old one.

Each step leaves a state that `recover` can tell from the others:

    NAME, NAME_rewrite             the copy is not finished: NAME holds
    NAME_old, NAME_rewrite         the copy is finished and takes NAME's place
    NAME, NAME_old                 the copy took its place; the old one goes

Writers wait for the whole of it, readers for the swap only.
"""

import contextlib
from collections.abc import Sequence

from ...domain.errors import StoreUnavailable
from . import filters
from .calls import Deadline, MilvusCalls
from .catalog import Catalog, batches
from .gate import Gate
from .schema import ALL_COLUMNS

_COPY = "_rewrite"
_OLD = "_old"
_PUT_RIGHT_SECONDS = 5.0


class Rewriter:
    """For the holder of the writers' turn."""

    def __init__(self, calls: MilvusCalls, catalog: Catalog, gate: Gate) -> None:
        self._calls = calls
        self._catalog = catalog
        self._gate = gate

    def rewrite(self, name: str, deadline: Deadline) -> None:
        """Copy what remains and swap. Raises StoreUnavailable; `name` then is as it was, or is put right by the
        next `recover`, with which the next `rewrite` begins."""
        copy, old = name + _COPY, name + _OLD
        self._put_right(name, deadline)
        self._catalog.create(copy, deadline)
        remaining = self._catalog.ids(name, filters.ANYTHING, deadline)
        for batch in batches(remaining, self._catalog.page_rows):
            page = self._catalog.by_ids(name, batch, deadline)
            rows = [{key: row[key] for key in ALL_COLUMNS} for row in page]
            self._calls("upsert", copy, rows, deadline=deadline)
        self._calls("flush", copy, deadline=deadline)
        with self._gate.swap(deadline):
            try:
                self._calls("rename_collection", name, old, deadline=deadline)
                self._calls("rename_collection", copy, name, deadline=deadline)
                self._catalog.load(name, deadline)
            except StoreUnavailable:
                # There may be no NAME now: do not leave it at that until somebody rewrites again.
                with contextlib.suppress(StoreUnavailable):
                    self._put_right(name, Deadline.after(_PUT_RIGHT_SECONDS))
                raise
        self._calls("drop_collection", old, deadline=deadline)

    def _put_right(self, name: str, deadline: Deadline) -> None:
        ours = (name, name + _COPY, name + _OLD)
        present = [str(found) for found in self._calls("list_collections", deadline=deadline)]
        self.recover([found for found in present if found in ours], deadline)
        self._catalog.load(name, deadline)

    def recover(self, names: Sequence[str], deadline: Deadline) -> None:
        """Finish or undo what a crash or a failure interrupted; `names` are all collections that there are."""
        present = set(names)
        for copy in sorted(name for name in present if name.endswith(_COPY)):
            name = copy.removesuffix(_COPY)
            if name not in present and name + _OLD in present:
                self._calls("rename_collection", copy, name, deadline=deadline)
                present.add(name)
            else:
                self._calls("drop_collection", copy, deadline=deadline)
        for old in sorted(name for name in present if name.endswith(_OLD)):
            name = old.removesuffix(_OLD)
            if name in present:
                self._calls("drop_collection", old, deadline=deadline)
            else:
                self._calls("rename_collection", old, name, deadline=deadline)
