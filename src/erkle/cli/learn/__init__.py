"""The `erkle learn` command."""
