"""The collection service under load and under kill -9, with real server processes and real connections.

``python -m benchmarks.service`` measures everything and writes benchmarks/service.md. The arguments ``kill``, ``open``,
``closed``, ``import`` and ``attack`` measure one part each.
"""
