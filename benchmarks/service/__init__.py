"""The collection service under load and under kill -9: real server processes, real connections.

``python -m benchmarks.service`` measures all of it and writes benchmarks/service.md; ``kill``, ``open``, ``closed``
alone do one.
"""
