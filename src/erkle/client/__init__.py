"""The service over HTTP, for programs: what its pages do, as methods of `Client`.

To answer is idempotent: the same token and choice give the same acknowledgement, so that a call which was cut off is
simply made again. The client does that by itself.
"""

from importlib.util import find_spec

if not find_spec("httpx2"):
    raise ImportError("erkle.client needs httpx2; pip install 'erkle[service]'.")

from erkle.client.client import Client
from erkle.client.replies import Acknowledged, Finished, Question, Reply, ShownObject
from erkle.client.sending import Refused, Unreachable

__all__ = ["Acknowledged", "Client", "Finished", "Question", "Refused", "Reply", "ShownObject", "Unreachable"]
