"""Many independent cells on cores or a cluster."""
