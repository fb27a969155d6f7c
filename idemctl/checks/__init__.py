"""Checks: what can be wrong with records, as pure rules over columns; one registry."""
