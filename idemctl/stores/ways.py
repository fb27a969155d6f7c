"""What can be asked of the way to a server: a stretch at a time, each needing those before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from idemctl.errors import ExitStatus
from idemctl.stores.ports import Closes

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What came of a look."""

    says: str
    status: ExitStatus = ExitStatus.OK
    fix: str | None = None
    is_judged: bool = True
    """False where nobody can tell whether it is right; `says` has the reason."""


Stretch = tuple[str, Callable[[], Seen]]
"""Its name, and the look at it, which may raise what stores raise."""


class Way(Closes, Protocol):
    """Leads to a server as stores go there, and changes nothing on it."""

    def stretches(self) -> Sequence[Stretch]:
        """List them in their order: `name`, `tcp`, `tls`, `login` and what the server says."""
        ...
