"""People who answer without being there: strategies against each other."""
