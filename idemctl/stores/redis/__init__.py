"""Redis and Valkey: one keyspace, the keys under one prefix."""
