"""Logs of hits: JSON lines, one a keyed request, read into counts.

DuckDB reads them, and is opened here and nowhere else. What it would pass over in silence is
counted: a line that is no JSON comes back from it as a row of NULLs, a time without an offset
as one in UTC, a line that belongs to no key as one more request.
"""

from idemctl.stores.logs.files import HitLog
from idemctl.stores.logs.statements import Fields

__all__ = ["Fields", "HitLog"]
