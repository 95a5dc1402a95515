"""What an operator decides, from arguments or from the environment, so that several worker processes read the same.

Each value may come from a variable such as ``ERKLE_SERVER_PUBLIC_URL``; `Configuration.environment` writes what
``Configuration()`` reads.
"""

import ipaddress
import json
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from erkle.store import limits

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_MB = 1_000_000


class Rate(BaseModel):
    """At most ``burst`` at once, and ``per_second`` in the long run; a rate of 0 is no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    per_second: NonNegativeFloat
    burst: PositiveFloat


class Configuration(BaseSettings):
    """Where the data lie, how the server is reached, and how much it takes."""

    model_config = SettingsConfigDict(
        env_prefix="ERKLE_SERVER_", env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    data: Path = Path("erkle-data")
    database: str = ""
    public_url: str = ""
    secure_cookies: bool | None = None
    trusted_proxies: Annotated[tuple[Network, ...], NoDecode] = ()
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = ()

    session_hours: float = Field(default=24 * 14, gt=0, le=limits.LIFETIME_SECONDS / 3600)
    body_bytes: PositiveInt = 1 * _MB
    upload_bytes: PositiveInt = 200 * _MB

    login_rate: Rate = Rate(per_second=0.1, burst=10)
    login_name_rate: Rate = Rate(per_second=1, burst=100)
    login_address_rate: Rate = Rate(per_second=0.5, burst=30)
    # A whole class may sit behind one address.
    join_rate: Rate = Rate(per_second=2, burst=300)
    answer_rate: Rate = Rate(per_second=20, burst=100)
    answer_address_rate: Rate = Rate(per_second=500, burst=2000)

    metrics_open: bool = Field(default=False, description="Whether everybody may read /metrics, not only this machine.")

    @property
    def place(self) -> str:
        """The database, as the store takes it."""
        return self.database or str(self.data / "erkle.db")

    def environment(self) -> dict[str, str]:
        """The variables from which another process makes the same configuration.

        >>> Configuration(data=Path("here"), trusted_proxies="127.0.0.1").environment()["ERKLE_SERVER_TRUSTED_PROXIES"]
        '127.0.0.1/32'
        """
        values = self.model_dump(mode="json", exclude_none=True)
        return {f"ERKLE_SERVER_{name.upper()}": _as_text(value) for name, value in values.items()}

    @field_validator("trusted_proxies", "allowed_origins", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("public_url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError(f"the public URL is {value!r}; begin it with https:// or http://.")
        return value.rstrip("/")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.secure_cookies and self.public_url.startswith("http://"):
            raise ValueError("secure cookies do not reach an http:// URL; use https, or set secure_cookies to false.")
        return self


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return json.dumps(value) if isinstance(value, dict | bool) else str(value)
