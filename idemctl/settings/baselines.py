"""Baseline files: the findings of audit that somebody answers for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from idemctl.checks.registry import BY_CODE
from idemctl.documents import read_document, read_model
from idemctl.domain.acceptances import Acceptance
from idemctl.domain.sight import Engine
from idemctl.settings.kinds import Day, StoreName

if TYPE_CHECKING:
    from pathlib import Path

_Sentence = Annotated[str, Field(min_length=1)]
if TYPE_CHECKING:
    _Code = str
else:
    _Code = Literal[tuple(BY_CODE)]


class _Accepted(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    code: _Code
    store: StoreName
    side: Engine | None = None
    at_most: Annotated[int, Field(ge=1)] | None = None
    owner: _Sentence
    reason: _Sentence
    until: Day


class _BaselineFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1]
    accepted: list[_Accepted]


def read_baseline(file: Path) -> tuple[Acceptance, ...]:
    """Read a baseline file.

    Raises:
        ConfigError: it cannot be read, or is invalid, with the place.
    """
    model = read_model(read_document(file), _BaselineFile)
    return tuple(Acceptance(**one.model_dump()) for one in model.accepted)
