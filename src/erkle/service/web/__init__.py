"""What every request passes and every route needs: errors, limits, logs, metrics, the shutdown."""
