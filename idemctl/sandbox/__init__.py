"""Local Postgres and Valkey with believable keys and real faults."""
