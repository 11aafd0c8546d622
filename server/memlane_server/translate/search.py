"""SearchMemories in all its forms."""

from typing import Any

from memlane.v1 import memory_service_pb2
from memlane_core.domain import limits
from memlane_core.services.search import SearchCommand, SearchResult

from .. import validate
from ..validate import Vector, Violations
from . import wire
from .common import consistency


def query_or_vector(
    v: Violations, request: Any, dimension: int, *, required: bool
) -> tuple[str | None, Vector | None]:
    """The `input` of a request: a text, or a vector at unit length."""
    kind = request.WhichOneof("input")
    if kind == "embedding_f32":
        return None, validate.unit_vector_from_bytes(v, "embedding_f32", request.embedding_f32, dimension)
    if kind == "query":
        return validate.text(v, "query", request.query, limits.MAX_QUERY_BYTES), None
    if kind == "embedding":
        values = request.embedding.values
        return None, validate.unit_vector_from_values(v, "embedding.values", values, dimension)
    if required:
        v.add("input", "one of query, embedding and embedding_f32 is required")
    return None, None


def search_command(
    request: memory_service_pb2.SearchMemoriesRequest, dimension: int, now: float
) -> SearchCommand:
    """Raises InvalidArgument."""
    v = Violations()
    user_id = validate.user_id(v, request.user_id)
    query, embedding = query_or_vector(v, request, dimension, required=True)
    has = request.HasField
    command = SearchCommand(
        user_id,
        query,
        embedding,
        validate.top_k(v, request.top_k),
        validate.not_nan(v, "min_score", request.min_score) if has("min_score") else None,
        validate.metadata(v, "metadata_filter", request.metadata_filter) if request.metadata_filter else None,
        validate.second_from(v, "created_after", request.created_after) if has("created_after") else None,
        validate.second_from(v, "created_before", request.created_before) if has("created_before") else None,
        consistency(v, request),
        validate.as_of_us(v, request.as_of, now) if has("as_of") else None,
    )
    v.check()
    return command


def search_message(
    request: memory_service_pb2.SearchMemoriesRequest, result: SearchResult, read_at: str
) -> bytes:
    """A serialised SearchMemoriesResponse."""
    return wire.search_response(
        result.hits,
        wire.read_at(read_at),
        result.timing,
        parts=request.include_score_parts,
        lexical=request.WhichOneof("input") == "query",
    )
