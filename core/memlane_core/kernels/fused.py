"""Filter, cosine, words and top-k over a user's block, without an allocation per call.

Rows are unit vectors, so a dot product is the cosine. A row's score is

    cosine + LEXICAL_WEIGHT * words

where `words` is its BM25 for the query over the largest possible (0..1), a share of what the memories recorded just
before and after it have (they come from one conversation), and, as feedback, what it shares with the two rows that
are best so far (Rocchio's idea, on words: a question names one memory, that memory names the next). A question about
how things stand now adds to each row up to RECENCY_WEIGHT, by how late it was stated.

Large blocks are read twice: all rows as 8-bit codes, which is a quarter of the bytes, then in float32 those rows that
could still be among the best. Every row has a proven bound on the error of its coded dot product (Cauchy-Schwarz on
what the coding left over, plus the rounding of float32 sums), so the answer is that of the float32 pass, to the bit.

Sums of dot products may be reassociated, which is what lets the compiler use vector registers; nothing else may. NaN
rules are kept: a row whose score is NaN is never returned. Ties go to the newer row: larger created_at, then larger
journal position. All helpers stand in this file, since numba's cache does not notice a change in another one.
"""

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import (  # type: ignore[attr-defined]
    carray,
    config,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    njit,
    types,
    uint8,
    uint32,
    uint64,
)
from numba.extending import intrinsic

NEVER = np.iinfo(np.int64).max
"""expires_at of a row that never expires."""
TOMBSTONE = np.iinfo(np.int64).min
"""expires_at of a row that was deleted or superseded: never visible, and not counted for the words."""

LEXICAL_WEIGHT = 2.0
"""Weight of the words beside the cosine; chosen on the retrieval set (docs/adr/0004)."""
NEIGHBOUR_SHARE = 0.15
"""Of the words of each of the two neighbours in time."""
FEEDBACK_WEIGHT = 0.2
FEEDBACK_ROWS = 2
FEEDBACK_MOST_ROWS = 0.25
"""A word that more than this share of the rows has links nothing."""
CONCEPT_WEIGHT = 0.5
"""What a shared concept counts beside a shared word."""
CONCEPT_BIT = 1 << 31
"""Set in the id of a concept, clear in the id of a word."""

RECENCY_WEIGHT = 0.2

K1 = 1.2
B = 0.75
"""BM25 parameters (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009: customary values)."""

MAX_TOKENS = 512
"""Distinct tokens of one text."""
MAX_CODED_DIMENSION = 8192
"""127 * 2047 * 8192 is the largest sum that fits 32 bits."""
CODED_MIN_ELEMENTS = 1 << 17
"""Rows times dimension from which the coded pass is faster (benchmarks/kernels.py)."""

UNIT_TOLERANCE = 1e-6
"""How far the squared norm of a float32 unit vector may be from 1 by rounding alone."""
SAFE_SQUARED_NORMS = (1e-24, 1e30)
"""Between which float32 can scale the vector."""

GROUP = 4
"""Queries whose coded passes over one block are made together."""

TABLE_SIZE = 24
AVERAGE = 22
WORTH_CODING = 23
"""Of a block's table (facade.Columns.table): its size, where the average length stands (float64) and whether the
block is worth coding."""
SCRATCH_SIZE = 14
"""Of the table of a thread's buffers (facade._Scratch)."""

_VECTOR = 16
"""Products that the coded pass makes at a time."""
_STEP = 64
"""And between two looks at whether a row has ended: the codes of a cache line."""
_ROWS = 4
"""Rows side by side in the coded pass: each piece of the query is read once for all of them."""
_ASK_AHEAD = 4096
"""Bytes between the codes that are read and those that are asked for."""

_QUERY_LEVELS = 2047
_UNIT_ROUNDOFF = 2.0**-24
_SCORE_SLACK = 1e-6
"""Rounding of cosine plus words to float32, of which ties are made."""

_REASSOCIATE = {"reassoc", "contract", "arcp", "nsz"}
_STRICT: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}


def _sums_for(rows: int, count: int) -> Any:
    """A function of codes (n, d) int8, first, queries (`count`, d) int16 and out (`count`, any) int32: out[q, row] is
    set to the sum of codes[row, j] * queries[q, j] over the whole steps of j, for `rows` rows from `first` on (the last
    row again where there are no more).

    Left to itself the compiler takes half as long again, and twice as long for several queries. Codes are asked for
    ahead, past their end too, which is harmless: between two calls others use the caches. They are asked for in the
    order in which they lie in memory; rows side by side, each asked for by itself, are slower than one after the other.
    """

    def add_up(typing_context, codes, first, queries, out):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            code, query, result = (
                context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 2, 3)
            )
            number, small, half = ir.IntType(64), ir.IntType(32), _VECTOR // 2
            total, product = ir.VectorType(small, half), ir.VectorType(small, _VECTOR)
            address = ir.IntType(8).as_pointer()
            zero, unused = ir.Constant(total, [0] * half), ir.Constant(product, ir.Undefined)
            evens, odds = (ir.Constant(total, list(range(start, _VECTOR, 2))) for start in (0, 1))
            n, d = (builder.extract_value(code.shape, axis) for axis in (0, 1))
            capacity = builder.extract_value(result.shape, 1)
            whole, last = builder.and_(d, number(-_STEP)), builder.sub(n, number(1))
            lines = [builder.add(arguments[1], number(r)) for r in range(rows)]
            lines = [builder.select(builder.icmp_signed("<", line, last), line, last) for line in lines]
            before = builder.block
            loop, after = (builder.append_basic_block(name) for name in ("step", "sums"))

            def declared(name: str, kind: Any) -> Any:
                return builder.module.globals.get(name) or ir.Function(builder.module, kind, name)

            add = declared(f"llvm.vector.reduce.add.v{half}i32", ir.FunctionType(small, [total]))
            ask = declared("llvm.prefetch.p0", ir.FunctionType(ir.VoidType(), [address, small, small, small]))
            builder.cbranch(builder.icmp_signed(">", whole, number(0)), loop, after)
            builder.position_at_end(loop)
            step = builder.phi(number)
            totals = [builder.phi(total) for _ in range(rows * count)]

            def place(data: Any, line: Any, j: Any) -> Any:
                return builder.gep(data, [builder.add(builder.mul(line, d), j)])

            def wide(data: Any, line: Any, j: Any) -> Any:
                vector = ir.VectorType(data.type.pointee, _VECTOR)
                values = builder.load(builder.bitcast(place(data, line, j), vector.as_pointer()))
                values.align = 1
                return builder.sext(values, product)

            sums = list(totals)
            for at in range(0, _STEP, _VECTOR):
                j = builder.add(step, number(at))
                factors = [wide(query.data, number(q), j) for q in range(count)]
                for r, line in enumerate(lines):
                    own = wide(code.data, line, j)
                    for q, factor in enumerate(factors, r * count):
                        products = builder.mul(own, factor, flags=["nsw"])
                        halves = [builder.shuffle_vector(products, unused, which) for which in (evens, odds)]
                        sums[q] = builder.add(sums[q], builder.add(*halves))
            now = builder.add(builder.mul(arguments[1], d), builder.mul(step, number(rows)))
            for r in range(rows):
                coming = builder.gep(code.data, [builder.add(now, number(_ASK_AHEAD + r * _STEP))])
                builder.call(ask, [builder.bitcast(coming, address), small(0), small(3), small(1)])
            following = builder.add(step, number(_STEP))
            step.add_incoming(number(0), before)
            step.add_incoming(following, loop)
            builder.cbranch(builder.icmp_signed("<", following, whole), loop, after)
            builder.position_at_end(after)
            ends = [builder.phi(total) for _ in sums]
            for phi, value in (*zip(totals, sums, strict=True), *zip(ends, sums, strict=True)):
                phi.add_incoming(zero, before)
                phi.add_incoming(value, loop)
            for i, end in enumerate(ends):
                to = builder.add(builder.mul(number(i % count), capacity), lines[i // count])
                builder.store(builder.call(add, [end]), builder.gep(result.data, [to]))
            return context.get_dummy_value()

        return types.void(codes, first, queries, out), generate

    def in_python(codes: Any, first: int, queries: Any, out: Any) -> None:
        whole = codes.shape[1] // _STEP * _STEP
        own = codes[first : first + rows, :whole].astype(np.int32)
        out[:count, first : first + len(own)] = queries[:count, :whole].astype(np.int32) @ own.T

    return in_python if config.DISABLE_JIT else intrinsic(add_up)  # type: ignore[attr-defined]


_sums_of_rows = _sums_for(_ROWS, 1)
_sums_of_group = _sums_for(1, GROUP)


@njit(nogil=True, fastmath=_REASSOCIATE, error_model="numpy", boundscheck=False)
def _dots_of(vectors, picked, query, out):  # type: ignore[no-untyped-def]
    """`out[row]` for each row in `picked`, four at a time: memory is read faster at several places than at one, and it
    is one loop, so that a row's sum is made in the same order whichever rows stand beside it."""
    last = picked.shape[0] - 1
    for i in range(0, picked.shape[0], 4):
        a, b, c, e = picked[i], picked[min(i + 1, last)], picked[min(i + 2, last)], picked[min(i + 3, last)]
        dot_a = dot_b = dot_c = dot_e = float32(0.0)
        for j in range(query.shape[0]):
            x = query[j]
            dot_a += vectors[a, j] * x
            dot_b += vectors[b, j] * x
            dot_c += vectors[c, j] * x
            dot_e += vectors[e, j] * x
        out[a], out[b], out[c], out[e] = dot_a, dot_b, dot_c, dot_e


@njit(
    [float64(types.Array(float32, 1, "C", readonly=readonly)) for readonly in (False, True)],
    cache=True, nogil=True, fastmath=_REASSOCIATE, error_model="numpy", boundscheck=False,
)  # fmt: skip
def squared_norm(vector):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(vector.shape[0]):
        x = float64(vector[j])
        total += x * x
    return total


@njit(inline="always")
def _add_rest(codes, first, last, queries, out):  # type: ignore[no-untyped-def]
    d = codes.shape[1]
    for row in range(first, last):
        for j in range(d // _STEP * _STEP, d):  # what is no whole step
            for q in range(queries.shape[0]):
                out[q, row] += int32(codes[row, j]) * int32(queries[q, j])


@njit(**_STRICT)
def _coded_dots(codes, query, out):  # type: ignore[no-untyped-def]
    n, d = codes.shape
    queries, sums = query.reshape(1, d), out.reshape(1, out.shape[0])
    for row in range(0, n, _ROWS):
        _sums_of_rows(codes, row, queries, sums)
        _add_rest(codes, row, min(row + _ROWS, n), queries, sums)


@njit(**_STRICT)
def _coded_dots_of_many(codes, queries, out):  # type: ignore[no-untyped-def]
    """`_coded_dots` for `GROUP` queries, shape (GROUP, d): each row is read, and widened, once for all of them."""
    for row in range(codes.shape[0]):
        _sums_of_group(codes, row, queries, out)
        _add_rest(codes, row, row + 1, queries, out)


@njit(nogil=True, fastmath=_REASSOCIATE, error_model="numpy", boundscheck=False)
def _code_query(query, codes):  # type: ignore[no-untyped-def]
    """Fills `codes`; returns scale, length of what is left over, length of the query; (0, 0, inf) when not finite."""
    # As integers the magnitudes have the same order, NaN above infinity above all numbers, and their maximum is taken
    # in vector registers.
    bits = query.view(np.int32)
    largest_bits = np.int32(0)
    for j in range(bits.shape[0]):
        largest_bits = max(largest_bits, bits[j] & np.int32(0x7FFFFFFF))
    if largest_bits >= np.int32(0x7F800000):
        return 0.0, 0.0, np.inf
    largest = float32(0.0)
    square = 0.0
    for j in range(query.shape[0]):
        square += float64(query[j]) * float64(query[j])
        if bits[j] & np.int32(0x7FFFFFFF) == largest_bits:
            largest = abs(query[j])
    scale = float64(largest) / _QUERY_LEVELS
    inverse = 1.0 / scale if scale > 0.0 else 0.0
    if not inverse < 1e300:
        inverse = 0.0
    left = 0.0
    for j in range(query.shape[0]):
        x = float64(query[j])
        code = int32(x * inverse + (0.5 if x >= 0.0 else -0.5))
        codes[j] = code
        rest = x - code * scale
        left += rest * rest
    return scale, np.sqrt(left), np.sqrt(square)


@njit(**_STRICT)
def _bound(rows, n, scale, left, norm, d, sums, cosines, slack):  # type: ignore[no-untyped-def]
    """Cosines from the coded sums, and in `slack` how far off they can be."""
    factor = float32(scale)
    query_left = float32(left * (1.0 + 1e-6))
    query_norm = float32(norm * (1.0 + 1e-6))
    # Rounding of the float32 sum, in any order, and of this function's own steps.
    rounding = float32((2.0 * (d + 8) * _UNIT_ROUNDOFF + 2.0 * _SCORE_SLACK) * norm)
    for row in range(n):
        rest = rows[1, row]
        length = rows[2, row]
        cosines[row] = float32(sums[row]) * (factor * rows[0, row])
        error = rest * query_norm + length * query_left + (rest + length) * rounding
        slack[row] = error * float32(1.0 + 1e-5) + float32(2.0 * _SCORE_SLACK)


@njit(inline="always")
def _newer(times, a, b):  # type: ignore[no-untyped-def]
    """Whether row a goes before row b among equals."""
    if times[a, 1] != times[b, 1]:
        return times[a, 1] > times[b, 1]
    return times[a, 2] > times[b, 2]


@njit(inline="always")
def _offer(score, cosine, lexical, row, times, count, top_k, rows, scores):  # type: ignore[no-untyped-def]
    """Put a row whose score is a number into the sorted best `top_k`; returns the new count."""
    if count == top_k:
        last = top_k - 1
        if not (score > scores[last, 0] or (score == scores[last, 0] and _newer(times, row, rows[last]))):
            return count
        place = last
    else:
        place = count
        count += 1
    while place > 0 and (
        score > scores[place - 1, 0]
        or (score == scores[place - 1, 0] and _newer(times, row, rows[place - 1]))
    ):
        rows[place] = rows[place - 1]
        scores[place, 0] = scores[place - 1, 0]
        scores[place, 1] = scores[place - 1, 1]
        scores[place, 2] = scores[place - 1, 2]
        place -= 1
    rows[place] = row
    scores[place, 0] = score
    scores[place, 1] = cosine
    scores[place, 2] = lexical
    return count


@njit(inline="always")
def _find(ids, wanted):  # type: ignore[no-untyped-def]
    """Index of `wanted` in sorted ids, or -1."""
    low = 0
    high = ids.shape[0]
    while low < high:
        middle = (low + high) >> 1
        if ids[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low < ids.shape[0] and ids[low] == wanted:
        return low
    return -1


@njit(**_STRICT)
def _add_words(  # type: ignore[no-untyped-def]
    ids, skip, factor, most_rows, times, lengths, offsets, tokens, frequencies, words, starts, entry_rows,
    entry_frequencies, n, indexed, stale, live, average, idf, spans, out,
):  # fmt: skip
    """Add `factor` times the normalised BM25 for `ids` to `out`, leaving out those in `skip` and those that more than
    `most_rows` live rows have.

    A word that no live row has counts nowhere: it cannot tell rows apart, nor should it shrink the others' share.
    """
    m = ids.shape[0]
    sieve = uint64(0)
    for i in range(m):
        idf[i] = 0.0
        spans[i, 0] = 0
        spans[i, 1] = 0
        if skip.shape[0] > 0 and _find(skip, ids[i]) >= 0:
            continue
        sieve |= uint64(1) << uint64(ids[i] & uint32(63))
        word = _find(words, ids[i])
        if word >= 0:
            first = starts[word]
            last = starts[word + 1]
            spans[i, 0] = first
            spans[i, 1] = last
            if stale:
                for e in range(first, last):
                    if times[entry_rows[e], 0] != TOMBSTONE:
                        idf[i] += 1.0
            else:
                idf[i] = float64(last - first)
    for row in range(indexed, n):
        if times[row, 0] == TOMBSTONE:
            continue
        for t in range(offsets[row], offsets[row + 1]):
            if (sieve >> uint64(tokens[t] & uint32(63))) & uint64(1):
                i = _find(ids, tokens[t])
                if i >= 0 and not (skip.shape[0] > 0 and _find(skip, ids[i]) >= 0):
                    idf[i] += 1.0
    most = 0.0
    for i in range(m):
        if idf[i] > 0.0 and idf[i] <= most_rows:
            idf[i] = np.log(1.0 + (live - idf[i] + 0.5) / (idf[i] + 0.5))
            if ids[i] & uint32(CONCEPT_BIT):
                idf[i] *= CONCEPT_WEIGHT
            most += idf[i]
        else:
            idf[i] = 0.0
    if not most > 0.0:
        return
    # The largest possible BM25 is (K1 + 1) times the sum of the weights, so K1 + 1 cancels out.
    scale = factor / most
    flat = float32(K1 * (1.0 - B))
    slope = float32(K1 * B / average)
    for i in range(m):
        if idf[i] > 0.0:
            share = float32(scale * idf[i])
            for e in range(spans[i, 0], spans[i, 1]):
                row = entry_rows[e]
                tf = entry_frequencies[e]
                out[row] += share * tf / (tf + flat + slope * lengths[row])
    for row in range(indexed, n):
        for t in range(offsets[row], offsets[row + 1]):
            if (sieve >> uint64(tokens[t] & uint32(63))) & uint64(1):
                i = _find(ids, tokens[t])
                if i >= 0 and idf[i] > 0.0:
                    tf = frequencies[t]
                    out[row] += float32(scale * idf[i]) * tf / (tf + flat + slope * lengths[row])


@njit(**_STRICT)
def _share_words(neighbours, times, n, now, own, out):  # type: ignore[no-untyped-def]
    for row in range(n):
        total = own[row]
        for side in range(2):
            other = neighbours[row, side]
            if other >= 0 and float64(times[other, 0]) > now:
                total += float32(NEIGHBOUR_SHARE) * own[other]
        out[row] = total


@njit(**_STRICT)
def _select(  # type: ignore[no-untyped-def]
    vectors, query, times, n, cosines, slack, lexical, now, after, before, min_score, mask, top_k, rows, scores, picked,
):  # fmt: skip
    """Best `top_k` rows into `rows` and `scores` (score, cosine, lexical); returns how many.

    Where `slack` has entries, a row's cosine is off by at most that much. Rows that could be among the best are then
    looked up in float32, and stay so. `picked` (int32) is room for n rows.
    """
    coded = slack.shape[0] > 0
    masked = mask.shape[0] > 0
    weight = float32(LEXICAL_WEIGHT)
    bar = float32(-np.inf)
    count = 0
    if coded:
        # The k-th best of what the rows have at least: a row that cannot reach it is not among the best.
        for row in range(n):
            least = cosines[row] + weight * lexical[row] - slack[row]
            if not least > bar:
                continue
            if not float64(times[row, 0]) > now or times[row, 1] < after or times[row, 1] >= before:
                continue
            if masked and mask[row] == 0:
                continue
            count = _offer(least, least, least, row, times, count, top_k, rows, scores)
            if count == top_k:
                bar = scores[top_k - 1, 0]
        possible = 0
        for row in range(n):
            if cosines[row] + weight * lexical[row] + slack[row] < bar:
                continue
            if not float64(times[row, 0]) > now or times[row, 1] < after or times[row, 1] >= before:
                continue
            if masked and mask[row] == 0:
                continue
            picked[possible] = row
            possible += 1
        _dots_of(vectors, picked[:possible], query, cosines)
        count = 0
        for i in range(possible):
            row = picked[i]
            slack[row] = float32(0.0)
            score = cosines[row] + weight * lexical[row]
            if score >= min_score:
                count = _offer(score, cosines[row], lexical[row], row, times, count, top_k, rows, scores)
        return count
    for row in range(n):
        score = cosines[row] + weight * lexical[row]
        if not score >= bar or not score >= min_score:
            continue
        if not float64(times[row, 0]) > now or times[row, 1] < after or times[row, 1] >= before:
            continue
        if masked and mask[row] == 0:
            continue
        count = _offer(score, cosines[row], lexical[row], row, times, count, top_k, rows, scores)
        if count == top_k:
            bar = scores[top_k - 1, 0]
    return count


def _signature(readonly: bool) -> Any:
    vectors = types.Array(float32, 2, "C", readonly=readonly)
    query = types.Array(float32, 1, "C", readonly=readonly)
    query_tokens = types.Array(uint32, 1, "C", readonly=readonly)
    return int64(
        vectors, int8[:, ::1], float32[:, ::1], int64[:, ::1], int32[:, ::1], float32[::1], int64[::1], uint32[::1],
        float32[::1], uint32[::1], int64[::1], int32[::1], float32[::1], int64, int64, types.boolean, int64, float64,
        query, query_tokens, types.boolean, types.boolean, float64, int64, int64, float64, uint8[::1], int64,
        int16[::1], float32[:, ::1], float64[::1], int64[:, ::1], int64[::1], float32[:, ::1], int32[::1], float64[::1],
    )  # fmt: skip


@njit([_signature(False), _signature(True)], cache=True, **_STRICT)
def scan(  # type: ignore[no-untyped-def]
    vectors, codes, facts, times, neighbours, recency, offsets, tokens, frequencies, words, starts, entry_rows,
    entry_frequencies, n, indexed, stale, live, average, query, query_tokens, recent, coded, now, after, before,
    min_score, mask, top_k, query_codes, work, idf, spans, rows, scores, ready_sums, ready,
):  # fmt: skip
    """`ready_sums` are the sums of the coded pass, where that was made before, and `ready` what `_code_query` said."""
    d = query.shape[0]
    cosines = work[0]
    slack = work[1]
    lexical = work[2]
    used = slack[:0]
    sums = work[4].view(np.int32)
    if coded:
        if ready.shape[0] > 0:
            scale, left, norm = ready[0], ready[1], ready[2]
        else:
            scale, left, norm = _code_query(query, query_codes)
        # A query that is not finite has no bounds; its float32 scores are NaN or infinite, as they should be.
        coded = np.isfinite(norm)
        if coded:
            used = slack[:n]
            if ready.shape[0] > 0:
                _bound(facts, n, scale, left, norm, d, ready_sums, cosines, slack)
            else:
                _coded_dots(codes[:n], query_codes[:d], sums)
                _bound(facts, n, scale, left, norm, d, sums, cosines, slack)
    # From here on `sums` is room for the rows that are looked up.
    if not coded:
        for row in range(n):
            sums[row] = row
        _dots_of(vectors, sums[:n], query, cosines)

    if query_tokens.shape[0] == 0:
        lexical[:n] = float32(0.0)
    else:
        work[3, :n] = float32(0.0)
        lengths = facts[3]
        _add_words(
            query_tokens, query_tokens[:0], 1.0, n, times, lengths, offsets, tokens, frequencies, words, starts,
            entry_rows, entry_frequencies, n, indexed, stale, live, average, idf, spans, work[3],
        )  # fmt: skip
        _share_words(neighbours, times, n, now, work[3], lexical)
        best = _select(
            vectors, query, times, n, cosines, used, lexical, now, after, before, -np.inf, mask, FEEDBACK_ROWS, rows,
            scores, sums,
        )  # fmt: skip
        for b in range(best):
            row = rows[b]
            factor = FEEDBACK_WEIGHT / LEXICAL_WEIGHT * scores[b, 0]
            if factor > 0.0:
                _add_words(
                    tokens[offsets[row] : offsets[row + 1]], query_tokens, factor, FEEDBACK_MOST_ROWS * live + 1.0,
                    times, lengths, offsets, tokens, frequencies, words, starts, entry_rows, entry_frequencies, n,
                    indexed, stale, live, average, idf, spans, lexical,
                )  # fmt: skip
        if recent:
            for row in range(n):
                lexical[row] += float32(RECENCY_WEIGHT / LEXICAL_WEIGHT) * recency[row]
    return _select(
        vectors, query, times, n, cosines, used, lexical, now, after, before, min_score, mask, top_k, rows, scores,
        sums,
    )  # fmt: skip


def _pointer_to(dtype: Any) -> Any:
    @intrinsic
    def pointer(typing_context, address):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(dtype)(types.int64), generate  # type: ignore[no-untyped-call]

    return pointer


_float32_at, _float64_at, _int8_at, _int16_at = map(_pointer_to, (float32, float64, int8, int16))
_int32_at, _int64_at, _uint8_at, _uint32_at = map(_pointer_to, (int32, int64, uint8, uint32))


@njit(inline="always")
def _scan_table(  # type: ignore[no-untyped-def]
    address, coded, query, query_tokens, recent, now, after, before, min_score, mask, mask_length, top_k, scratch, rows,
    scores, place,
):  # fmt: skip
    """`scan` over the block whose table (facade.Columns.table) is at this address; `place` of the group that
    `_score_group` has scored, -1 = it was not."""
    t = carray(_int64_at(address), (TABLE_SIZE,))
    average = carray(_float64_at(address + 8 * AVERAGE), (1,))[0]
    capacity = t[0]
    s = carray(_int64_at(scratch), (SCRATCH_SIZE,))
    ready = 0 if place < 0 else 1
    place = max(place, 0)
    return scan(
        carray(_float32_at(t[9]), (capacity, t[1])), carray(_int8_at(t[10]), (capacity, t[1])),
        carray(_float32_at(t[11]), (4, capacity)), carray(_int64_at(t[12]), (capacity, 4)),
        carray(_int32_at(t[13]), (capacity, 2)), carray(_float32_at(t[14]), (capacity,)),
        carray(_int64_at(t[15]), (capacity + 1,)), carray(_uint32_at(t[16]), (t[6],)),
        carray(_float32_at(t[17]), (t[6],)), carray(_uint32_at(t[18]), (t[7],)),
        carray(_int64_at(t[19]), (t[7] + 1,)), carray(_int32_at(t[20]), (t[8],)),
        carray(_float32_at(t[21]), (t[8],)), t[2], t[3], t[4] != 0, t[5], average, query, query_tokens, recent,
        coded, now, after, before, min_score, carray(_uint8_at(mask), (mask_length,)), top_k,
        carray(_int16_at(s[3]), (s[1],)), carray(_float32_at(s[4]), (5, s[0])),
        carray(_float64_at(s[5]), (MAX_TOKENS,)), carray(_int64_at(s[6]), (MAX_TOKENS, 2)), rows, scores,
        carray(_int32_at(s[11] + 4 * place * s[0]), (ready * s[0],)),
        carray(_float64_at(s[12] + 24 * place), (3 * ready,)),
    )  # fmt: skip


@njit(inline="always")
def _score_group(address, queries, scratch):  # type: ignore[no-untyped-def]
    """The coded pass of `GROUP` queries over one block, for `scan` to go on with. Shape of queries: (GROUP, d)."""
    t = carray(_int64_at(address), (TABLE_SIZE,))
    s = carray(_int64_at(scratch), (SCRATCH_SIZE,))
    n, d = t[2], t[1]
    codes = carray(_int16_at(s[10]), (GROUP, d))
    facts = carray(_float64_at(s[12]), (GROUP, 3))
    for g in range(GROUP):
        facts[g, 0], facts[g, 1], facts[g, 2] = _code_query(queries[g], codes[g])
        if not np.isfinite(facts[g, 2]):
            codes[g] = 0
    _coded_dots_of_many(
        carray(_int8_at(t[10]), (t[0], d))[:n], codes, carray(_int32_at(s[11]), (GROUP, s[0]))
    )


@njit(inline="always")
def _one_block(requests, column, first):  # type: ignore[no-untyped-def]
    """Whether `GROUP` requests from `first` on ask one block (its address in this column) that is worth coding."""
    address = requests[first, column] if first < requests.shape[0] else 0
    if first + GROUP > requests.shape[0] or carray(_int64_at(address), (TABLE_SIZE,))[WORTH_CODING] == 0:
        return False
    for i in range(first + 1, first + GROUP):  # noqa: SIM110 - compiled
        if requests[i, column] != address:
            return False
    return True


def _signature_of_one(readonly: bool) -> Any:
    query = types.Array(float32, 1, "C", readonly=readonly)
    query_tokens = types.Array(uint32, 1, "C", readonly=readonly)
    return int64(
        int64, int64, query, query_tokens, types.boolean, types.boolean, float64, int64, int64, float64, int64, int64,
        int64,
    )  # fmt: skip


@njit([_signature_of_one(False), _signature_of_one(True)], cache=True, **_STRICT)
def scan_one(  # type: ignore[no-untyped-def]
    table, scratch, query, query_tokens, recent, coded, now, after, before, min_score, mask, mask_length, top_k,
):  # fmt: skip
    """`scan` with block, scratch buffers and mask given by their addresses: unboxing an array costs as much as
    scanning a dozen rows."""
    s = carray(_int64_at(scratch), (SCRATCH_SIZE,))
    return _scan_table(
        table, coded, query, query_tokens, recent, now, after, before, min_score, mask, mask_length, top_k, scratch,
        carray(_int64_at(s[7]), (s[2],)), carray(_float32_at(s[8]), (s[2], 3)), -1,
    )  # fmt: skip


@njit(inline="always")
def read_unit(raw, offset, query):  # type: ignore[no-untyped-def]
    """Copy a vector out of a message, little-endian float32, and bring it to unit length; False if it cannot be."""
    copied = query.view(np.uint8)
    for i in range(copied.shape[0]):
        copied[i] = raw[offset + i]
    norm_2 = squared_norm(query)
    if abs(norm_2 - 1.0) <= UNIT_TOLERANCE:
        return True
    if not SAFE_SQUARED_NORMS[0] < norm_2 < SAFE_SQUARED_NORMS[1]:
        return False
    factor = float32(1.0 / np.sqrt(norm_2))
    for i in range(query.shape[0]):
        query[i] = query[i] * factor
    return True


@njit(inline="always")
def _scan_bare(table, query, now, top_k, scratch, rows, scores, place):  # type: ignore[no-untyped-def]
    """`_scan_table` by cosine alone, without filters."""
    coded = carray(_int64_at(table), (TABLE_SIZE,))[WORTH_CODING] != 0
    return _scan_table(
        table, coded, query, carray(_uint32_at(scratch), (0,)), False, now, TOMBSTONE, NEVER, -np.inf, scratch, 0,
        top_k, scratch, rows, scores, place,
    )  # fmt: skip


_RAW = types.Bytes(uint8, 1, "C")


@njit([int64(_RAW, int64, int64, int64, float64, int64)], cache=True, **_STRICT)
def scan_raw(raw, offset, table, scratch, now, top_k):  # type: ignore[no-untyped-def]
    """`scan_one` by cosine alone, without filters, for a vector that stands in a message as little-endian float32.

    -1 for a vector that float32 cannot bring to unit length. Besides where `scan_one` leaves them the rows and, as
    float64, their scores stand in the last of the buffers, one after the other.
    """
    s = carray(_int64_at(scratch), (SCRATCH_SIZE,))
    query = carray(_float32_at(s[9]), (carray(_int64_at(table), (TABLE_SIZE,))[1],))
    if not read_unit(raw, offset, query):
        return -1
    rows, scores = carray(_int64_at(s[7]), (s[2],)), carray(_float32_at(s[8]), (s[2], 3))
    count = _scan_bare(table, query, now, top_k, scratch, rows, scores, -1)
    best_rows = carray(_int64_at(s[13]), (count,))
    best_scores = carray(_float64_at(s[13] + 8 * count), (count,))
    for i in range(count):
        best_rows[i], best_scores[i] = rows[i], scores[i, 0]
    return count


@njit(
    types.void(_RAW, int64[:, ::1], int64, float64, int64[:, ::1], float32[:, :, ::1]), cache=True, **_STRICT
)
def scan_raw_many(raw, requests, scratch, now, rows, scores):  # type: ignore[no-untyped-def]
    """`scan_raw` for each line of `requests` (address of the table, offset, top_k, and as an answer the count)."""
    s = carray(_int64_at(scratch), (SCRATCH_SIZE,))
    i = 0
    while i < requests.shape[0]:
        table = requests[i, 0]
        together = _one_block(requests, 0, i)
        queries = carray(_float32_at(s[9]), (GROUP, carray(_int64_at(table), (TABLE_SIZE,))[1]))
        size = GROUP if together else 1
        for g in range(size):
            requests[i + g, 3] = 0 if read_unit(raw, requests[i + g, 1], queries[g]) else -1
        if together:
            _score_group(table, queries, scratch)
        for g in range(size):
            if requests[i + g, 3] == 0:
                requests[i + g, 3] = _scan_bare(
                    table, queries[g], now, requests[i + g, 2], scratch, rows[i + g], scores[i + g],
                    g if together else -1,
                )  # fmt: skip
        i += size


@njit(
    types.void(
        int64, float32[:, ::1], int64[::1], uint32[::1], int64[:, ::1], float64[:, ::1], int64[:, ::1],
        float32[:, :, ::1],
    ),
    cache=True, **_STRICT,
)  # fmt: skip
def scan_many(scratch, queries, token_offsets, query_tokens, options, limits, rows, scores):  # type: ignore[no-untyped-def]
    """`scan` for each line of `options` (top_k, after, before, recent, address of the table, address and length of the
    mask, and as an answer the count) and `limits` (now, min_score)."""
    scored = 0
    for i in range(options.shape[0]):
        option = options[i]
        if i >= scored and _one_block(options, 4, i):
            _score_group(option[4], queries[i : i + GROUP], scratch)
            scored = i + GROUP
        place = GROUP - (scored - i) if i < scored else -1
        coded = carray(_int64_at(option[4]), (TABLE_SIZE,))[WORTH_CODING] != 0
        tokens = query_tokens[token_offsets[i] : token_offsets[i + 1]]
        option[7] = _scan_table(
            option[4], coded, queries[i], tokens, option[3] != 0, limits[i, 0], option[1], option[2], limits[i, 1],
            option[5], option[6], option[0], scratch, rows[i], scores[i], place,
        )  # fmt: skip
