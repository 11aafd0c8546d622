"""What the package promises: its public names, its dependencies, and what it does not pull in."""

import subprocess
import sys
import tomllib
from pathlib import Path

import memlane

ROOT = Path(__file__).parents[2]
PUBLIC = """
AsyncClient Client AsyncStream Stream
ClientOptions RetryPolicy TLS Timeouts
Consistency Fact Message MessageLike ModelOptions NEVER Never Search VectorLike
Action DeciderKind FinishReason IngestionState Language MemoryOrder MemoryType RememberMode Role SectionKind
Memory MemoryRead MemoryRevision MemoryWritten Operation RejectedFact RememberResult
Ingestion IngestionResult RetriedIngestion
Page ScoredMemory SearchOutcome SearchResult SearchTiming
Appended SessionEnded Window
ChatDelta ChatDone ChatEvent Context ContextSection ContextTiming Usage
Knowledge KnowledgeDeleted KnowledgeRead KnowledgeSearchResult KnowledgeUpserted ScoredKnowledge
RuleSet RulesPut RulesRead
AuditAnchor AuditEvent AuditVerification ErasureCounts ExportRecord ExportSummary ExportedIngestion
ExportedMessage Forgotten LegalHoldRead LegalHoldSet LegalHoldState Purged Receipt
EmbedderInfo Limits ServerInfo
MemlaneError InvalidArgument FieldViolation NotFound AlreadyExists RequestIdReused Aborted RevisionMismatch
UserForgotten FailedPrecondition NotConfigured LegalHold ResourceExhausted Unavailable DeadlineExceeded Cancelled
Unauthenticated PermissionDenied Unimplemented DataLoss Internal
""".split()


def test_public_names() -> None:
    assert sorted(memlane.__all__) == sorted(PUBLIC)
    assert all(getattr(memlane, name) is not None for name in PUBLIC)


def test_declared_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [d.partition(">")[0] for d in project["dependencies"]] == ["grpcio", "protobuf"]


def test_importing_the_client_pulls_in_nothing_else() -> None:
    code = """
import sys
import grpc.aio
from google.protobuf import any_pb2, descriptor_pb2, duration_pb2, field_mask_pb2, message_factory, timestamp_pb2
from google.protobuf import runtime_version
from google.protobuf.internal import builder
before = set(sys.modules)
import memlane
memlane.Client("127.0.0.1:1").close()
print(*sorted(set(sys.modules) - before))
print(*sorted(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    added, everything = (set(line.split()) for line in done.stdout.splitlines())
    assert "memlane.client" in added
    assert {name.partition(".")[0] for name in added} - sys.stdlib_module_names <= {"memlane", "grpc"}
    unwanted = ("numpy", "numba", "pymilvus", "openai", "google.rpc", "memlane_core", "memlane_server")
    assert not everything.intersection(unwanted)


def test_it_lives_beside_googles_own_error_details() -> None:
    """Both define google.rpc.Status; in one descriptor pool they would collide."""
    for code in (
        "import memlane; from google.rpc import status_pb2, error_details_pb2",
        "from google.rpc import status_pb2, error_details_pb2; import memlane",
    ):
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
