"""schema: what the stores of the reference patterns look like, as text to be used."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum

from idemctl.documents import shipped_text
from idemctl.errors import ExitStatus

OWN_SCHEMA = "idemctl"
_FOLDER = "schemas"
_OWN_NAME = re.compile(rf"(EXISTS |schema: ){OWN_SCHEMA}([.;}}])")
"""Where the file names that schema."""


class What(StrEnum):
    """What there is a schema of."""

    OWN = "own"
    """What is idemctl's own in Postgres."""
    POSTGRES = "postgres"
    """The tables of the reference patterns."""
    REDIS = "redis"
    """Keys, values and settings of the reference patterns; there is nothing to create."""
    LAYOUT = "layout"
    """What a layout file may hold, as JSON Schema."""
    POLICY = "policy"
    """What a policy file may hold, as JSON Schema."""


_FILES = {
    What.OWN: "own.sql",
    What.POSTGRES: "postgres.sql",
    What.REDIS: "redis.conf",
    # Written down, for the model is in settings, which no operation imports.
    What.POLICY: "policy.json",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One text; printing it cannot fail."""

    what: What
    text: str
    status: ExitStatus = ExitStatus.OK


def schema(what: What, *, own_schema: str = OWN_SCHEMA) -> Outcome:
    """Read one of the texts, or write it.

    Args:
        what: which.
        own_schema: where the tables of idemctl go, as SQL writes it.
    """
    if what is What.LAYOUT:
        return Outcome(what=what, text=_of_layouts())
    text = shipped_text(f"{_FOLDER}/{_FILES[what]}")
    if what is What.OWN and own_schema != OWN_SCHEMA:
        text = _OWN_NAME.sub(rf"\1{own_schema}\2", text)
    return Outcome(what=what, text=text)


def _of_layouts() -> str:
    from idemctl.layouts.model import Layout

    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "idemctl/layout/v1",
    }
    return json.dumps(head | Layout.model_json_schema(), indent=2) + "\n"
