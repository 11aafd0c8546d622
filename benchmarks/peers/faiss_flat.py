"""A flat faiss index for each user, holding only what is not deleted: no filter, no texts, so a bound."""

from importlib.metadata import version as package_version
from pathlib import Path

import faiss
import numpy as np

from .corpus import TOP_K, Corpus, Query
from .peer import Found


class FaissFlat:
    title = "faiss flat, an index a user"
    kind = "reference"
    settings = (
        "`IndexFlatIP` over the user's rows that are not deleted: no filter is applied, no text is returned"
    )

    def load(self, corpus: Corpus, folder: Path) -> None:
        faiss.omp_set_num_threads(1)
        self._numbers, self._flat = [], []
        for user in range(corpus.users):
            rows = np.array([n for n in corpus.rows_of(user) if not corpus.deleted[n]])
            flat = faiss.IndexFlatIP(corpus.dimension)
            flat.add(corpus.vectors[rows])
            self._numbers.append(rows)
            self._flat.append(flat)

    def search(self, query: Query) -> list[Found]:
        scores, found = self._flat[query.user].search(query.vector[None], TOP_K)
        rows = self._numbers[query.user][found[0]]
        return [(row, score, "") for row, score in zip(rows.tolist(), scores[0].tolist(), strict=True)]

    def version(self) -> str:
        return f"faiss-cpu {package_version('faiss-cpu')}"

    def nbytes(self) -> int:
        return sum(flat.ntotal * flat.d * 4 for flat in self._flat)

    def close(self) -> None:
        pass
