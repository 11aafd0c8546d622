"""UpsertKnowledge to SearchKnowledge."""

from memlane.v1 import knowledge_service_pb2, memory_pb2
from memlane_core.domain import limits
from memlane_core.domain.memory import Memory
from memlane_core.ports.journal import RequestStamp
from memlane_core.ports.vector_store import KnowledgeHit
from memlane_core.services.knowledge import UpsertKnowledge
from memlane_core.services.search import SearchTiming

from .. import validate
from ..validate import Violations
from .common import from_seconds

TITLE_KEY = "memlane.title"
SOURCE_KEY = "memlane.source"
"""Title and source are kept among the labels, under names that a caller may not use."""


def upsert_command(
    request: knowledge_service_pb2.UpsertKnowledgeRequest, stamp: RequestStamp | None
) -> UpsertKnowledge:
    v = Violations()
    own = {
        TITLE_KEY: validate.note(v, "title", request.title, validate.MAX_TITLE_BYTES),
        SOURCE_KEY: validate.note(v, "source", request.source, validate.MAX_TITLE_BYTES),
    }
    own = {key: value for key, value in own.items() if value}
    metadata = validate.metadata(v, "metadata", request.metadata, own)
    for key in {TITLE_KEY, SOURCE_KEY} & metadata.keys():
        v.add("metadata", f"{key} is reserved: use the field of that name")
    validate.request_id(v, request.request_id)
    command = UpsertKnowledge(
        knowledge_id=knowledge_id(v, request.knowledge_id, required=False),
        content=validate.text(v, "content", request.content, limits.MAX_CONTENT_BYTES),
        metadata=metadata | own,
        ttl_seconds=validate.ttl_seconds(v, "ttl", request.ttl) if request.HasField("ttl") else None,
        revision=validate.revision(v, request.revision),
        request=stamp,
    )
    v.check()
    return command


def knowledge_id(v: Violations, value: str, *, required: bool = True) -> str:
    return validate.identifier(v, "knowledge_id", value, limits.MAX_KNOWLEDGE_ID_BYTES, required=required)


def knowledge_message(memory: Memory, *, deleted: bool = False) -> knowledge_service_pb2.Knowledge:
    labels = dict(memory.metadata)
    message = knowledge_service_pb2.Knowledge(
        knowledge_id=memory.memory_id,
        content=memory.content,
        title=labels.pop(TITLE_KEY, ""),
        source=labels.pop(SOURCE_KEY, ""),
        metadata=labels,
        create_time=from_seconds(memory.created_at),
        update_time=from_seconds(memory.updated_at),
        revision=memory.revision,
    )
    if memory.expires_at is not None:
        message.expire_time.seconds = memory.expires_at
    if deleted:
        message.delete_time.seconds = memory.updated_at
    return message


def scored_knowledge(hit: KnowledgeHit) -> knowledge_service_pb2.ScoredKnowledge:
    return knowledge_service_pb2.ScoredKnowledge(knowledge=knowledge_message(hit.memory), score=hit.score)


def timing_message(timing: SearchTiming) -> memory_pb2.SearchTiming:
    return memory_pb2.SearchTiming(
        embed_us=timing.embed_us,
        search_us=timing.search_us,
        total_us=timing.total_us,
        embed_cached=timing.embed_cached,
    )
