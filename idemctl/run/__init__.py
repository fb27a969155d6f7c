"""What every run has: one checkpoint, one stop, a pace, a lock that is watched."""
