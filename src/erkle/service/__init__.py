"""The collection service: a web application that asks participants and learns from each answer.

`create_app` builds the application from a `Configuration`: pages for participants and researchers, and a JSON API for
everything that the pages do. Answers are saved in `erkle.store` before they are acknowledged, and the kernel is always
computed from them, so a process can end at any time without losing anything.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from erkle.service.app import create_app, from_environment
    from erkle.service.configuration import Configuration

if not all(
    map(find_spec, ("fastapi", "uvicorn", "pydantic_settings", "argon2", "prometheus_client", "markdown_it", "nh3"))
):
    raise ImportError("erkle.service needs FastAPI, uvicorn and more; run pip install 'erkle[service]'.")

__all__ = ["Configuration", "create_app", "from_environment"]


def __getattr__(name: str) -> Any:
    # Import on first use: a command such as `erkle study open` needs the service, but not its learners.
    if name not in __all__:
        raise AttributeError(f"module 'erkle.service' has no attribute {name!r}")
    return getattr(import_module(f"erkle.service.{'configuration' if name == 'Configuration' else 'app'}"), name)
