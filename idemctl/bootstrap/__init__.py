"""The one place that wires: settings become stores, targets, history and runs.

Imported by every command, so it loads nothing heavy by itself; drivers are imported when a
store is opened.
"""

from idemctl.bootstrap.openers import PostgresTableOpener, RedisKeyspaceOpener
from idemctl.bootstrap.workplace import Workplace

__all__ = ["PostgresTableOpener", "RedisKeyspaceOpener", "Workplace"]
