"""The addresses of the service: each file has a ``router``, and all are served."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from fastapi import APIRouter

__all__ = ["routers"]


def routers() -> Iterator[APIRouter]:
    """The router of each file in this folder, that of the participants first: they are tried in turn."""
    names = sorted(module.name for module in iter_modules(__path__))
    for name in sorted(names, key=lambda name: name != "take"):
        yield import_module(f"{__name__}.{name}").router
