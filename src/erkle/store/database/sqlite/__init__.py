"""The files of an SQLite database: whether they are there, sound and complete, and whether the disk has room."""
