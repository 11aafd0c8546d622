"""The RPCs: translate, call, translate. They know neither grpc nor bytes; see `interceptors`."""

from collections.abc import Mapping

from ..services import Services
from .base import Servicer
from .compliance import ComplianceServicer
from .context import ContextServicer
from .diagnostics import DiagnosticsServicer
from .knowledge import KnowledgeServicer
from .memory import MemoryServicer
from .rules import RuleServicer
from .session import SessionServicer


def servicers(services: Services) -> Mapping[str, Servicer]:
    """Servicers by the full name of their service."""
    return {
        "memlane.v1.MemoryService": MemoryServicer(services),
        "memlane.v1.SessionService": SessionServicer(services),
        "memlane.v1.ContextService": ContextServicer(services),
        "memlane.v1.KnowledgeService": KnowledgeServicer(services),
        "memlane.v1.RuleService": RuleServicer(services),
        "memlane.v1.ComplianceService": ComplianceServicer(services),
        "memlane.v1.DiagnosticsService": DiagnosticsServicer(services),
    }
