"""The addresses of the service: each file has a ``router``, and all are served."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from fastapi import APIRouter

__all__ = ["routers"]


def routers() -> Iterator[APIRouter]:
    """The router of each file in this folder."""
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        yield import_module(f"{__name__}.{module.name}").router
