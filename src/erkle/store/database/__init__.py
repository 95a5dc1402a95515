"""The database under the store: the engine, the tables, their versions, and how an operation gets a transaction."""
