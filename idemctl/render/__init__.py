"""Outcomes made visible: a report first, then the form that was asked for."""
