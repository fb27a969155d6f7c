"""Postgres: one table, and the leaves under it."""
