"""ASGI middleware: it sees every request and every response."""
