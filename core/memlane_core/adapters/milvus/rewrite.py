"""Making Milvus Lite drop the texts of removed rows from its files.

Lite merges data files only when four of about one size have gathered, and offers no call that would do it now
(`compact` answers success and does nothing), so purged and overwritten rows stay in old files for as long as
nobody writes. What it does do at once is drop a collection with all its files. So: copy the rows that remain into
a new collection, and put that one in the place of the old one.

Each step leaves a state that `recover` can tell from the others:

    NAME, NAME_rewrite             the copy is not finished: NAME holds
    NAME_old, NAME_rewrite         the copy is finished and takes NAME's place
    NAME, NAME_old                 the copy took its place; the old one goes

Writers and readers go on during the copy. Writers wait while what they changed meanwhile is copied again, readers
for the swap only.
"""

import contextlib
from collections.abc import Collection, Sequence

from ...domain.errors import StoreUnavailable
from . import filters
from .calls import Deadline, MilvusCalls
from .catalog import Catalog, batches
from .gate import Gate
from .schema import ALL_COLUMNS, Column

_COPY = "_rewrite"
_OLD = "_old"
_COPY_ROWS = 500
"""At once: as long as one batch is written, other writers wait."""
_PUT_RIGHT_SECONDS = 5.0


class Rewriter:
    """One rewrite of a collection at a time: `begin` and `finish` by the holder of the writers' turn, `copy`
    between them by anybody, beside readers and writers."""

    def __init__(self, calls: MilvusCalls, catalog: Catalog, gate: Gate) -> None:
        self._calls = calls
        self._catalog = catalog
        self._gate = gate

    def begin(self, name: str, deadline: Deadline) -> None:
        """Put right what an earlier rewrite left, and make room for the copy. Raises StoreUnavailable, as the
        others do; `name` then is as it was, or is put right by the next `recover`, which `begin` is too."""
        self._put_right(name, deadline)
        self._catalog.create(name + _COPY, deadline)

    def copy(self, name: str, deadline: Deadline) -> None:
        """Copy what there is; whoever writes meanwhile has to remember the ids for `finish`."""
        for batch in batches(self._catalog.ids(name, filters.ANYTHING, deadline), self._copy_rows):
            self._copy_batch(name, batch, deadline)

    def finish(self, name: str, changed: Collection[str], deadline: Deadline) -> None:
        """Bring the rows written or removed during the copy up to date, and swap."""
        copy, old = name + _COPY, name + _OLD
        for batch in batches(changed, self._copy_rows):
            self._calls("delete", copy, filter=filters.any_of(Column.MEMORY_ID, batch), deadline=deadline)
            self._copy_batch(name, batch, deadline)
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

    @property
    def _copy_rows(self) -> int:
        return min(_COPY_ROWS, self._catalog.page_rows)

    def _copy_batch(self, name: str, ids: Sequence[str], deadline: Deadline) -> None:
        page = self._catalog.by_ids(name, ids, deadline)
        if page:
            rows = [{key: row[key] for key in ALL_COLUMNS} for row in page]
            self._calls("upsert", name + _COPY, rows, deadline=deadline)

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
