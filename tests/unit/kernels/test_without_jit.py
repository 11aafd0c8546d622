"""The kernels as plain Python: whatever the compiler does with them, this is what they say."""

import os
import subprocess
import sys
from pathlib import Path

CHECK = """
import numpy as np
from memlane_core import kernels
from memlane_core.kernels import fused, reference
from tests.unit.kernels.blocks import NOW, dyadic, make_columns, random_query_tokens, units

assert not hasattr(fused.scan, "inspect_asm"), "the JIT is on"
kernels.warm_up()
rng = np.random.default_rng(0)
for n in range(10):
    for coded in (False, True):
        columns = make_columns(rng, dyadic(rng, (n, 5)), indexed=n // 2)
        query = dyadic(rng, (5,))
        rows, scores = kernels.search(columns, query, None, top_k=4, now=NOW, coded=coded)
        wanted = reference.search(columns, query, None, top_k=4, now=NOW)
        assert rows.tolist() == wanted[0].tolist() and scores.tolist() == wanted[1].tolist()
        tokens = random_query_tokens(rng, columns)
        _, scores = kernels.search(columns, query, tokens, top_k=4, now=NOW, coded=coded)
        assert np.allclose(scores[:, 0], reference.search(columns, query, tokens, top_k=4, now=NOW)[1][:, 0], atol=2e-5)
        request = kernels.Request(
            columns, query, tokens, 4, NOW, None, None, None, None, False
        )
        assert kernels.search_many([request])[0][1].tobytes() == scores.tobytes()
        unit = units(rng, (5,))
        message = b"xyz" + unit.tobytes()
        rows, scores = kernels.search(columns, unit, None, top_k=4, now=NOW)
        best = tuple(rows.tolist()), tuple(scores[:, 0].tolist())
        assert kernels.search_raw(columns, message, 3, top_k=4, now=NOW) == best
        assert kernels.search_raw_many([kernels.RawRequest(columns, 3, 4)] * 2, message, now=NOW) == [best, best]
        nothing = bytes(20)
        assert kernels.search_raw(columns, nothing, 0, top_k=4, now=NOW) is None
        assert kernels.search_raw_many([kernels.RawRequest(columns, 0, 4)], nothing, now=NOW) is None
print("equal")
"""


def test_equal_to_the_reference_with_the_jit_off() -> None:
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CHECK],
        cwd=root,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == "equal", done.stderr
