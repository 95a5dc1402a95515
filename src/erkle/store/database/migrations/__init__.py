"""The versions of the tables; a version that was released is never edited."""
