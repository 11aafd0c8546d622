"""The sections `metrics` and `tracing` of the settings."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr

Positive = Annotated[int, Field(gt=0)]


class MetricsSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    port: int | None = Field(None, ge=1, le=65535)
    """/metrics for Prometheus, and the probes /livez and /readyz; None = off."""
    host: str = "127.0.0.1"
    """What an orchestrator probes from outside needs an address that it can reach. The pages ask for no credential."""
    tenant_label: bool = False
    """Count calls by tenant. Off by default: who can read the metrics then learns who the tenants are."""
    max_tenants: Positive = 100
    """Tenants with a label of their own; the others are counted together as "other"."""


class TracingSettings(BaseModel):
    """Traces by OpenTelemetry. Nothing is made and nothing leaves the machine while `endpoint` is empty."""

    model_config = ConfigDict(extra="forbid")

    endpoint: str = Field("", pattern=r"^(https?://.+)?$")
    """Where a collector takes OTLP over HTTP, as http://127.0.0.1:4318/v1/traces."""
    headers: dict[str, SecretStr] = {}
    """Sent with each export, as for a token of the collector."""
    sample_ratio: float = Field(0.01, ge=0, le=1)
    """Of calls that bring no `traceparent`; with one, the caller has decided."""
    service_name: str = "memlane"
    timeout_seconds: float = Field(5.0, gt=0)
    """For one export."""
