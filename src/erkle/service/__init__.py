"""The collection service: people answer, the kernel learns at once, and nothing acknowledged is ever lost.

`create_app` makes the web application of a `Configuration`: pages for participants and researchers, and a JSON API for
everything that the pages do. It keeps no state of its own but what may be lost: the answers are in `erkle.store`, and
what is learned is a fold of them.
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
    raise ImportError("erkle.service needs FastAPI, uvicorn and more; pip install 'erkle[service]'.")

__all__ = ["Configuration", "create_app", "from_environment"]


def __getattr__(name: str) -> Any:
    # Loaded at first use: a command such as `erkle study open` needs a part of the service, but not its learners.
    if name not in __all__:
        raise AttributeError(f"module 'erkle.service' has no attribute {name!r}")
    return getattr(import_module(f"erkle.service.{'configuration' if name == 'Configuration' else 'app'}"), name)
