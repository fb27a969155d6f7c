"""policy show: what do the files promise, and how long must a ttl be?

Gather: each file is read with the places of its endpoints. There is nothing to decide or
to apply: the arithmetic is that of `domain.policies`.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from idemctl.documents import read_document
from idemctl.errors import ExitStatus, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from idemctl.documents import Document, Place
    from idemctl.domain.policies import EndpointPolicy, Policies
    from idemctl.run.run import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One endpoint, and where it stands."""

    policy: EndpointPolicy
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The endpoints, in the order of the files."""

    shown: tuple[Shown, ...]
    status: ExitStatus = ExitStatus.OK


def show(
    files: Iterable[Path],
    understand: Callable[[Document], Policies],
    run: Run,
    *,
    endpoint: str | None = None,
) -> Outcome:
    """Read the files, and choose what counts for one endpoint, or all.

    Args:
        files: policy files.
        understand: makes policies of a document, its endpoints in the same order.
        run: asked between files whether to go on.
        endpoint: a label, or a request such as `POST /v1/charges/ch_1`.

    Raises:
        ConfigError: a file cannot be read, or is invalid.
        UsageError: no file says anything of the endpoint.
    """
    shown: list[Shown] = []
    labels: list[str] = []
    for file in dict.fromkeys(files):
        run.checkpoint()
        document = read_document(file)
        policies = understand(document)
        labels += policies.endpoints
        one = None if endpoint is None else policies.governing(endpoint)
        shown += [
            Shown(policy=policy, place=document.place(("endpoints", number)))
            for number, policy in enumerate(policies.endpoints.values())
            if endpoint is None or policy is one
        ]
    if endpoint is not None and not shown:
        close = difflib.get_close_matches(endpoint, labels, n=1)
        raise UsageError(
            f"no policy says anything of {endpoint!r}",
            hint=f"did you mean {close[0]}?" if close else "idemctl policy show lists them",
        )
    return Outcome(shown=tuple(shown))
