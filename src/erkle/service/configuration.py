"""The configuration of a server, from arguments or from environment variables.

Each value can come from a variable such as ``ERKLE_SERVER_PUBLIC_URL``. `Configuration.environment` returns the
variables that give another process the same configuration.
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

SERVER: dict[str, Any] = {
    # The application itself reads proxy headers and writes the log.
    "proxy_headers": False,
    "server_header": False,
    "access_log": False,
    "ws": "none",
    "timeout_graceful_shutdown": 5,
    "timeout_keep_alive": 30,
    "http": "erkle.service.web.connections:Guarded",
}
"""Options for ``uvicorn.run`` that the application needs."""


class Rate(BaseModel):
    """At most ``burst`` requests at once, and ``per_second`` in the long run; a rate of 0 means no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    per_second: NonNegativeFloat
    burst: PositiveFloat


class Configuration(BaseSettings):
    """Where the data are stored, how the server is reached, and how much it accepts."""

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
    study_bytes: PositiveInt = 2000 * _MB

    # Generous, because a whole class may share one address: the page of a participant makes about 30 requests, and one
    # more for each picture.
    request_rate: Rate = Rate(per_second=300, burst=20_000)
    login_rate: Rate = Rate(per_second=0.1, burst=10)
    login_name_rate: Rate = Rate(per_second=1, burst=100)
    login_address_rate: Rate = Rate(per_second=0.5, burst=30)
    join_rate: Rate = Rate(per_second=2, burst=300)
    answer_rate: Rate = Rate(per_second=20, burst=100)
    answer_address_rate: Rate = Rate(per_second=500, burst=2000)
    # In bytes: a class of 300 who answer every two seconds make the server store 60,000 bytes per second.
    stored_rate: Rate = Rate(per_second=100_000, burst=50 * _MB)

    prolific_keys: str = "https://api.prolific.com/.well-known/study/jwks.json"

    metrics_open: bool = Field(default=False, description="Whether everybody may read /metrics, or only this machine.")

    @property
    def place(self) -> str:
        """The path or URL of the database."""
        return self.database or str(self.data / "erkle.db")

    def environment(self) -> dict[str, str]:
        """Environment variables that give another process the same configuration.

        >>> Configuration(data=Path("here"), trusted_proxies="127.0.0.1").environment()["ERKLE_SERVER_TRUSTED_PROXIES"]
        '127.0.0.1/32'
        """
        values = self.model_dump(mode="json", exclude_none=True)
        return {f"ERKLE_SERVER_{name.upper()}": _as_text(value) for name, value in values.items()}

    @field_validator("trusted_proxies", "allowed_origins", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("public_url", "prolific_keys")
    @classmethod
    def _is_url(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError(f"the URL is {value!r}; start it with https:// or http://.")
        return value.rstrip("/")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.secure_cookies and self.public_url.startswith("http://"):
            raise ValueError(
                "browsers do not send secure cookies to an http:// URL; use https, or set secure_cookies to false."
            )
        return self


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return json.dumps(value) if isinstance(value, dict | bool) else str(value)
