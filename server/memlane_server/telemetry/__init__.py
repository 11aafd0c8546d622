"""What the process tells of itself: metrics, probes, traces. Names and numbers, never content, never users."""

from .settings import MetricsSettings, TracingSettings
from .telemetry import Telemetry

__all__ = ["MetricsSettings", "Telemetry", "TracingSettings"]
