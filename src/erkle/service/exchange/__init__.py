"""Studies and answers as files: out of this server, and into it."""
