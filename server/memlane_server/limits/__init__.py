"""What one tenant and one user may ask for: calls a second, calls at once, memories kept."""

from .limiter import TenantLimiter
from .settings import LimitsSettings

__all__ = ["LimitsSettings", "TenantLimiter"]
