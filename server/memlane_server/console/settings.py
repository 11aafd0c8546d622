"""The section `console` of the settings."""

from ipaddress import ip_address
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator


class ConsoleSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    enabled: bool = False
    host: str = "127.0.0.1"
    """A loopback address: the page speaks HTTP without TLS. From elsewhere it is reached through an SSH tunnel."""
    port: int = Field(7071, ge=0, le=65535)
    """0 = a free port; the one taken is printed."""
    idle_minutes: Annotated[float, Field(gt=0, le=1440)] = 30.0
    """A session that nobody used for so long is signed out. It also ends with its token."""

    @field_validator("host")
    @classmethod
    def _only_here(cls, host: str) -> str:
        try:
            loopback = ip_address(host).is_loopback
        except ValueError:
            loopback = False
        if not loopback:
            raise ValueError("must be a loopback address, as 127.0.0.1 or ::1")
        return host
