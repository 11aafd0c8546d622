"""The wire contract: names that other tools are written against, and stubs in step with the .proto files."""

import hashlib
import importlib
import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import (
    Descriptor,
    FieldDescriptor,
    FileDescriptor,
    MethodDescriptor,
    ServiceDescriptor,
)

import memlane.v1
from memlane.v1 import diagnostics_service_pb2, error_reason_pb2
from memlane_core.domain import errors, limits
from memlane_core.domain.conversation import Role
from memlane_core.domain.memory import Action, DeciderKind, MemoryType

ROOT = Path(__file__).parents[2]
BUF = str(Path(sys.executable).with_name("buf"))

# Service -> RPC -> (dotted paths of the request, dotted paths of the response). The names are fixed.
CONTRACT: dict[str, dict[str, tuple[str, str]]] = {
    "MemoryService": {
        "Remember": (
            "user_id conversation.messages.role conversation.messages.content"
            " conversation.messages.create_time conversation.messages.time_zone session_id"
            " facts.facts.content facts.facts.ttl facts.facts.metadata request_id mode validate_only",
            "operations.action operations.memory operations.previous operations.reason"
            " operations.decider operations.similarity operations.guards rejected.fact rejected.reason"
            " partial ingestion_id written_at.token",
        ),
        "GetIngestion": (
            "user_id ingestion_id",
            "state operations error.code error.message error.reason",
        ),
        "ListIngestions": (
            "user_id page_size page_token",
            "ingestions.ingestion_id ingestions.state next_page_token",
        ),
        "RetryIngestion": (
            "user_id ingestion_id request_id",
            "ingestion.state written_at",
        ),
        "CreateMemory": (
            "user_id content metadata ttl request_id",
            "memory written_at",
        ),
        "GetMemory": (
            "user_id memory_id consistency",
            "memory.memory_id memory.user_id memory.content memory.memory_type memory.metadata"
            " memory.create_time memory.update_time memory.expire_time memory.delete_time"
            " memory.revision read_at",
        ),
        "UpdateMemory": (
            "user_id memory_id content metadata ttl revision request_id",
            "memory written_at",
        ),
        "DeleteMemory": (
            "user_id memory_id revision request_id",
            "memory written_at",
        ),
        "ListMemories": (
            "user_id page_size page_token memory_type order as_of consistency",
            "memories next_page_token read_at",
        ),
        "ListMemoryRevisions": (
            "user_id memory_id",
            "revisions.action revisions.content revisions.previous_content revisions.time"
            " revisions.actor revisions.reason revisions.decider revisions.revision"
            " revisions.valid_from revisions.valid_until",
        ),
        "SearchMemories": (
            "user_id query embedding.values embedding_f32 top_k min_score metadata_filter"
            " created_after created_before as_of consistency.minimize_latency"
            " consistency.at_least_as_fresh.token consistency.fully_consistent",
            "results.memory results.score results.cosine results.lexical read_at timing.embed_us"
            " timing.search_us timing.total_us timing.embed_cached",
        ),
        "BatchSearchMemories": (
            "searches.user_id searches.query searches.as_of",
            "responses.status.code responses.response.results",
        ),
        "StreamSearchMemories": (
            "correlation_id search.user_id",
            "correlation_id status.code response.results",
        ),
    },
    "SessionService": {
        "AppendMessages": (
            "user_id session_id messages request_id",
            "written_at",
        ),
        "GetWindow": (
            "user_id session_id max_rounds consistency",
            "messages.role messages.content read_at",
        ),
        "EndSession": (
            "user_id session_id mode request_id",
            "already_ended operations rejected partial ingestion_id written_at",
        ),
    },
    "ContextService": {
        "BuildContext": (
            "user_id session_id query embedding.values embedding_f32 budget_tokens top_k language"
            " consistency",
            "system_prompt messages sections.kind sections.text sections.tokens memories.memory"
            " memories.score knowledge.knowledge knowledge.score total_tokens timing.total_us read_at",
        ),
        "Chat": (
            "user_id session_id message budget_tokens top_k language model_options.model consistency"
            " request_id",
            "context.system_prompt delta done.message done.finish_reason done.usage.total_tokens"
            " done.written_at",
        ),
    },
    "KnowledgeService": {
        "UpsertKnowledge": (
            "knowledge_id content title source metadata ttl revision request_id",
            "knowledge.knowledge_id knowledge.content knowledge.revision written_at",
        ),
        "GetKnowledge": (
            "knowledge_id consistency",
            "knowledge read_at",
        ),
        "DeleteKnowledge": (
            "knowledge_id revision request_id",
            "knowledge written_at",
        ),
        "ListKnowledge": (
            "page_size page_token consistency",
            "knowledge next_page_token read_at",
        ),
        "SearchKnowledge": (
            "query embedding.values embedding_f32 top_k min_score consistency",
            "results.knowledge results.score read_at timing",
        ),
    },
    "RuleService": {
        "PutRules": (
            "text rules.rules revision request_id",
            "rule_set.revision written_at",
        ),
        "GetRules": (
            "revision consistency",
            "rule_set.rules read_at",
        ),
        "ListRuleRevisions": (
            "page_size page_token consistency",
            "revisions.revision next_page_token read_at",
        ),
    },
    "ComplianceService": {
        "ForgetUser": (
            "user_id operator reason purge_now request_id",
            "memory_count receipt.receipt_id receipt.user_id receipt.counts.memories"
            " receipt.counts.revisions receipt.counts.messages receipt.counts.ingestions"
            " receipt.counts.requests receipt.first_audit_seq receipt.last_audit_seq"
            " receipt.audit_head_hash receipt.issue_time receipt.digest receipt.signature"
            " receipt.key_id receipt.purge_after written_at",
        ),
        "ExportUser": (
            "user_id operator reason",
            "memory revision message ingestion audit_event summary",
        ),
        "SetLegalHold": (
            "user_id active operator reason request_id",
            "legal_hold.active written_at",
        ),
        "GetLegalHold": (
            "user_id consistency",
            "legal_hold.active read_at",
        ),
        "ListAuditEvents": (
            "user_id page_size page_token start_time end_time operations actions",
            "events.seq events.time events.tenant events.user_id events.actor events.operation"
            " events.memory_id events.revision events.count events.reason_code events.detail"
            " events.digest events.prev_hash events.hash events.action next_page_token",
        ),
        "VerifyAuditLog": (
            "anchors.seq",
            "valid events_checked head_seq head_hash first_bad_seq",
        ),
        "PurgeExpired": (
            "request_id",
            "expired_count purged_count legal_hold_skipped written_at",
        ),
    },
    "DiagnosticsService": {
        "Echo": (
            "payload",
            "payload",
        ),
        "GetServerInfo": (
            "",
            "version embedder.model embedder.dimension decider_kinds vector_store_engine"
            " journal_engine limits.max_content_bytes",
        ),
    },
}

READS = {
    "GetIngestion", "ListIngestions", "GetMemory", "ListMemories", "ListMemoryRevisions",
    "SearchMemories", "GetWindow", "BuildContext", "GetKnowledge", "ListKnowledge", "SearchKnowledge",
    "GetRules", "ListRuleRevisions", "GetLegalHold", "ListAuditEvents", "VerifyAuditLog",
}  # fmt: skip
WRITES = {
    "Remember", "RetryIngestion", "CreateMemory", "UpdateMemory", "DeleteMemory", "AppendMessages",
    "EndSession", "UpsertKnowledge", "DeleteKnowledge", "PutRules", "ForgetUser", "SetLegalHold",
    "PurgeExpired",
}  # fmt: skip
STREAMS = {"StreamSearchMemories": (True, True), "Chat": (False, True), "ExportUser": (False, True)}

REASONS = [value.name for value in error_reason_pb2.DESCRIPTOR.enum_types_by_name["ErrorReason"].values]


def files() -> dict[str, FileDescriptor]:
    modules = pkgutil.iter_modules(memlane.v1.__path__, "memlane.v1.")
    names = [m.name for m in modules if m.name.endswith("_pb2")]
    return {d.name: d for d in (importlib.import_module(n).DESCRIPTOR for n in names)}


def services() -> dict[str, ServiceDescriptor]:
    return {name: s for f in files().values() for name, s in f.services_by_name.items()}


def methods() -> Iterator[MethodDescriptor]:
    for service in services().values():
        yield from service.methods


def missing(message: Descriptor, paths: str) -> list[str]:
    """Those of the dotted, space-separated paths that lead to no field of the message."""
    lost = []
    for path in paths.split():
        here: Descriptor | None = message
        for name in path.split("."):
            field: FieldDescriptor | None = here.fields_by_name.get(name) if here is not None else None
            if field is None:
                lost.append(path)
                break
            here = field.message_type
    return lost


def run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("service", "rpc"), [(s, r) for s, rpcs in CONTRACT.items() for r in rpcs])
def test_every_fixed_name_exists(service: str, rpc: str) -> None:
    method = services()[service].methods_by_name[rpc]
    request, response = CONTRACT[service][rpc]
    assert missing(method.input_type, request) == []
    assert missing(method.output_type, response) == []


def test_the_table_names_every_rpc() -> None:
    assert {s: set(d.methods_by_name) for s, d in services().items()} == {
        s: set(r) for s, r in CONTRACT.items()
    }


def test_each_rpc_has_its_own_request_and_response() -> None:
    for method in methods():
        assert (method.input_type.name, method.output_type.name) == (
            f"{method.name}Request",
            f"{method.name}Response",
        )
    types = [t.full_name for m in methods() for t in (m.input_type, m.output_type)]
    assert len(types) == len(set(types))


def test_streams_are_where_the_contract_says() -> None:
    streaming = {m.name: (m.client_streaming, m.server_streaming) for m in methods()}
    assert {n: s for n, s in streaming.items() if any(s)} == STREAMS


def test_every_read_takes_a_consistency_and_says_what_it_read_at() -> None:
    for method in (m for m in methods() if m.name in READS):
        assert missing(method.input_type, "consistency.at_least_as_fresh") == [], method.name
        assert missing(method.output_type, "read_at.token") == [], method.name


def test_every_write_takes_a_request_id_and_returns_a_token() -> None:
    for method in (m for m in methods() if m.name in WRITES):
        assert missing(method.input_type, "request_id") == [], method.name
        assert missing(method.output_type, "written_at.token") == [], method.name


def test_reads_and_writes_are_all_of_them() -> None:
    """A new RPC has to be put into one of the two lists (or named here as carrying its tokens elsewhere)."""
    elsewhere = {"BatchSearchMemories", "StreamSearchMemories", "Chat", "ExportUser", "Echo", "GetServerInfo"}
    assert {m.name for m in methods()} == READS | WRITES | elsewhere


def domain_errors(
    root: type[errors.MemlaneError] = errors.MemlaneError,
) -> Iterator[type[errors.MemlaneError]]:
    yield root
    for child in root.__subclasses__():
        yield from domain_errors(child)


def test_every_domain_error_has_a_reason_on_the_wire() -> None:
    wire = {name.removeprefix("ERROR_REASON_") for name in REASONS}
    named = {e.reason for e in domain_errors() if e.__module__ == errors.__name__}
    assert len(named) > 20
    assert named - wire == set()


def test_reasons_tell_status_cause_remedy_and_example() -> None:
    text = (ROOT / "proto/memlane/v1/error_reason.proto").read_text(encoding="utf-8")
    for name in REASONS[1:]:
        before = text.split(f"  {name} = ")[0].splitlines()
        comment = "\n".join(before[max(i for i, line in enumerate(before) if "//" not in line) + 1 :])
        for part in ("// Status ", "// Cause: ", "// Remedy: ", "// Example: "):
            assert comment.count(part) == 1, (name, part)


@pytest.mark.parametrize(
    ("enum", "prefix", "domain"),
    [
        ("Action", "ACTION_", Action),
        ("DeciderKind", "DECIDER_KIND_", DeciderKind),
        ("MemoryType", "MEMORY_TYPE_", MemoryType),
        ("Role", "ROLE_", Role),
    ],
)
def test_enums_hold_the_domain_values(
    enum: str, prefix: str, domain: type[Action] | type[DeciderKind] | type[MemoryType] | type[Role]
) -> None:
    wire = files()["memlane/v1/memory.proto"].enum_types_by_name[enum].values_by_name
    assert set(wire) == {f"{prefix}UNSPECIFIED"} | {f"{prefix}{value.name}" for value in domain}


def test_limits_on_the_wire_are_the_domain_limits() -> None:
    domain = {name.lower() for name in vars(limits) if name.startswith(("MAX_", "DEFAULT_"))}
    assert set(diagnostics_service_pb2.Limits.DESCRIPTOR.fields_by_name) == domain


def test_every_file_has_the_same_language_options() -> None:
    for file in files().values():
        options = descriptor_pb2.FileOptions.FromString(file.GetOptions().SerializeToString())
        assert options.java_package == "io.memlane.v1"
        assert options.java_multiple_files
        assert options.java_outer_classname.endswith("Proto")
        assert options.go_package == "github.com/memlane/memlane/clients/go/memlanev1;memlanev1"


def digest(file: descriptor_pb2.FileDescriptorProto) -> str:
    """SHA-256 of a file's descriptor without what compilers may add: comments and JSON names."""

    def strip(message: descriptor_pb2.DescriptorProto) -> None:
        for field in message.field:
            field.ClearField("json_name")
        for nested in message.nested_type:
            strip(nested)

    file.ClearField("source_code_info")
    for message in file.message_type:
        strip(message)
    return hashlib.sha256(file.SerializeToString(deterministic=True)).hexdigest()


def test_stubs_are_in_step_with_the_proto_files(tmp_path: Path) -> None:
    image = tmp_path / "image.binpb"
    built = run(
        BUF, "build", "proto", "--as-file-descriptor-set", "--exclude-imports", "--output", str(image)
    )
    assert built.returncode == 0, built.stderr
    sources = descriptor_pb2.FileDescriptorSet.FromString(image.read_bytes()).file
    stubs = {
        name: descriptor_pb2.FileDescriptorProto.FromString(f.serialized_pb) for name, f in files().items()
    }
    assert {f.name: digest(f) for f in sources} == {name: digest(f) for name, f in stubs.items()}


@pytest.mark.parametrize("command", [("lint", "proto"), ("format", "-d", "--exit-code", "proto")])
def test_proto_files_follow_the_style(command: tuple[str, ...]) -> None:
    """Names, and a comment on every element."""
    result = run(BUF, *command)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository whose only branch is main and holds these .proto files."""
    shutil.copytree(ROOT / "proto", tmp_path / "repo/proto")
    (tmp_path / "repo/.venv/bin").mkdir(parents=True)
    (tmp_path / "repo/.venv/bin/buf").symlink_to(BUF)
    git(tmp_path / "repo", "init", "-q", "-b", "main")
    git(tmp_path / "repo", "add", "proto")
    git(tmp_path / "repo", "commit", "-q", "-m", "proto")
    return tmp_path / "repo"


def git(repository: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")
    result = run("git", *identity, *arguments, cwd=repository)
    assert result.returncode == 0, result.stderr


def edit(repository: Path, old: str, new: str) -> None:
    path = repository / "proto/memlane/v1/diagnostics_service.proto"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_breaking_check_tells_an_addition_from_a_break(checkout: Path) -> None:
    edit(checkout, "  Limits limits = 6;", "  Limits limits = 6;\n  // More.\n  string more = 7;")
    assert run("proto/check_breaking.sh", cwd=checkout).returncode == 0
    edit(checkout, "  string version = 1;", "  int64 version = 1;")
    broken = run("proto/check_breaking.sh", cwd=checkout)
    assert broken.returncode != 0
    assert "version" in broken.stdout + broken.stderr


def test_breaking_check_works_in_a_detached_clone(checkout: Path) -> None:
    clone = checkout.parent / "clone"
    git(checkout, "clone", "-q", str(checkout), str(clone))
    git(clone, "checkout", "-q", "--detach")
    git(clone, "branch", "-q", "-D", "main")
    (clone / ".venv/bin").mkdir(parents=True)
    (clone / ".venv/bin/buf").symlink_to(BUF)
    edit(clone, "  string version = 1;", "  int64 version = 1;")
    assert run("proto/check_breaking.sh", cwd=clone).returncode != 0


def test_breaking_check_says_so_where_there_is_nothing_to_compare_with(checkout: Path) -> None:
    git(checkout, "checkout", "-q", "--detach")
    git(checkout, "branch", "-q", "-D", "main")
    alone = run("proto/check_breaking.sh", cwd=checkout)
    assert (alone.returncode, "nothing to compare with" in alone.stdout) == (0, True)
    git(checkout, "checkout", "-q", "--orphan", "main")
    git(checkout, "rm", "-q", "--cached", "-r", "proto")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "empty")
    empty = run("proto/check_breaking.sh", cwd=checkout)
    assert (empty.returncode, "nothing to compare with" in empty.stdout) == (0, True)
