"""What all routes share: errors, limits, logs, metrics, shutdown."""
