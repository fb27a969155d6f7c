"""What can be wrong with a record that only rows beside it tell."""

from __future__ import annotations

from enum import StrEnum


class Inspection(StrEnum):
    """One such thing."""

    REPEATED_STEPS = "repeated_steps"
    """A step of a run that was done more than once."""
    OVERTAKEN = "overtaken"
    """An event that waits, though one that comes after it has gone."""
