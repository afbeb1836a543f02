"""unweave."""
