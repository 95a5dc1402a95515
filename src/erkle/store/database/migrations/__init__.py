"""How a database of an older erkle becomes one of this erkle; a step that was released is never edited."""
