"""A Python client for the HTTP API of the service: `Client` has a method for everything that the pages do.

Answering is idempotent: the same token and choice always get the same acknowledgement. The client therefore repeats a
call that was interrupted.
"""

from importlib.util import find_spec

if not find_spec("httpx2"):
    raise ImportError("erkle.client needs httpx2; pip install 'erkle[service]'.")

from erkle.client.client import Client
from erkle.client.replies import Acknowledged, Finished, Question, Reply, ShownObject
from erkle.client.sending import Refused, Unreachable

__all__ = ["Acknowledged", "Client", "Finished", "Question", "Refused", "Reply", "ShownObject", "Unreachable"]
