"""Values and decisions: no I/O, no clock, nothing that a test must fake."""
