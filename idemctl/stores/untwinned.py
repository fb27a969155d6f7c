"""What a table in memory never does: it has no twin, and no rows hang on its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from idemctl.errors import Unsupported
from idemctl.stores.answers import WHOLE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from idemctl.domain.inspections import Inspection
    from idemctl.layouts.transcript import Transcript
    from idemctl.stores.answers import Shard, Wanted

_WITHOUT_TWIN = Unsupported("memory: a table in memory has no twin")


class WithoutTwin:
    """The ports of a pair, refused."""

    def inspect(self, what: Inspection, shard: Shard = WHOLE) -> Never:
        """Refuse: see `Inspects.inspect`.

        Raises:
            Unsupported: always.
        """
        del what, shard
        raise Unsupported("memory: no rows hang on these", hint="Postgres has such rows")

    def hold(
        self, transcript: Transcript, *, written_after: datetime, shard: Shard = WHOLE
    ) -> Never:
        """Refuse: see `Holds.hold`.

        Raises:
            Unsupported: always.
        """
        del transcript, written_after, shard
        raise _WITHOUT_TWIN

    def hold_keys(self, transcript: Transcript, wanted: Wanted) -> Never:
        """Refuse: see `Holds.hold_keys`.

        Raises:
            Unsupported: always.
        """
        del transcript, wanted
        raise _WITHOUT_TWIN

    def fill(
        self, wanted: Wanted, values: Sequence[bytes], until: NDArray[np.int64], *, now: int
    ) -> Never:
        """Refuse: see `Fills.fill`.

        Raises:
            Unsupported: always.
        """
        del wanted, values, until, now
        raise _WITHOUT_TWIN
