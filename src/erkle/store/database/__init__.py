"""The database of the store: connections, tables and their versions, transactions, and checks."""
