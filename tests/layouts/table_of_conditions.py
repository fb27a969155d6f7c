"""Conditions, rows, and whether they hold: read by Python and by Postgres alike."""

from __future__ import annotations

from typing import Any

COLUMNS = {
    "word": "text",
    "flag": "boolean",
    "number": "bigint",
    "small": "smallint",
    "short": "varchar(9)",
    "Odd Name%": "text",
    "data": "jsonb",
}
"""Each column's type in Postgres; a row has those that it names, and NULL in the others."""

Row = dict[str, Any]

EMPTY: Row = {}
DONE: Row = {"word": "done", "flag": True, "number": 1, "small": 2, "short": "done"}
OTHER: Row = {"word": "other", "flag": False, "number": 0, "small": -1, "short": ""}

IS_DONE = {"field": "word", "is": "done"}
IS_SET = {"field": "flag", "is": True}
IS_ONE = {"field": "number", "is": 1}
NO_WORD = {"field": "word", "missing": True}
HAS_WORD = {"field": "word", "missing": False}

CASES: list[tuple[Any, Row, bool]] = [
    ("always", EMPTY, True),
    ("always", DONE, True),
    # A value.
    (IS_DONE, DONE, True),
    (IS_DONE, OTHER, False),
    (IS_DONE, EMPTY, False),
    (IS_DONE, {"word": "Done"}, False),
    (IS_DONE, {"word": "done "}, False),
    (IS_DONE, {"word": ""}, False),
    ({"field": "word", "is": ""}, {"word": ""}, True),
    ({"field": "word", "is": ""}, EMPTY, False),
    ({"field": "short", "is": "done"}, DONE, True),
    ({"field": "word", "is": "50%"}, {"word": "50%"}, True),
    ({"field": "word", "is": "it's \\ {}"}, {"word": "it's \\ {}"}, True),
    ({"field": "word", "is": "zo\u00eb"}, {"word": "zo\u00eb"}, True),
    ({"field": "Odd Name%", "is": "x"}, {"Odd Name%": "x"}, True),
    ({"field": "Odd Name%", "is": "x"}, EMPTY, False),
    # A beginning.
    ({"field": "word", "begins": "do"}, DONE, True),
    ({"field": "word", "begins": "done"}, DONE, True),
    ({"field": "word", "begins": "done "}, DONE, False),
    ({"field": "word", "begins": "Do"}, DONE, False),
    ({"field": "word", "begins": "o"}, DONE, False),
    ({"field": "word", "begins": "d"}, EMPTY, False),
    ({"field": "word", "begins": "d"}, {"word": ""}, False),
    ({"field": "word", "begins": "5%_"}, {"word": "5%_\\"}, True),
    ({"field": "word", "begins": "%"}, DONE, False),
    ({"field": "word", "begins": "_"}, DONE, False),
    ({"field": "word", "begins": "\\"}, {"word": "\\x80"}, True),
    ({"field": "short", "begins": "do"}, DONE, True),
    ({"field": "flag", "begins": "t"}, DONE, True),
    ({"field": "number", "begins": "1"}, {"number": 17}, True),
    ({"field": "Odd Name%", "begins": "x"}, {"Odd Name%": "xy"}, True),
    ({"field": "word", "begins": "zo\u00eb"}, {"word": "zo\u00eb!"}, True),
    ({"not": {"field": "word", "begins": "do"}}, EMPTY, True),
    ({"all": [{"field": "word", "begins": "do"}, IS_SET]}, DONE, True),
    # Booleans, as booleans and as words.
    (IS_SET, DONE, True),
    (IS_SET, OTHER, False),
    (IS_SET, EMPTY, False),
    ({"field": "flag", "is": False}, OTHER, True),
    ({"field": "flag", "is": False}, EMPTY, False),
    ({"field": "flag", "is": "true"}, DONE, True),
    ({"field": "flag", "is": "t"}, DONE, False),
    ({"field": "flag", "is": 1}, DONE, False),
    ({"field": "word", "is": True}, {"word": "true"}, True),
    ({"field": "word", "is": True}, {"word": "True"}, False),
    # Numbers.
    (IS_ONE, DONE, True),
    (IS_ONE, OTHER, False),
    (IS_ONE, EMPTY, False),
    ({"field": "number", "is": True}, DONE, False),
    ({"field": "number", "is": 0}, OTHER, True),
    ({"field": "number", "is": 0}, EMPTY, False),
    ({"field": "number", "is": "1"}, DONE, True),
    ({"field": "number", "is": "01"}, DONE, False),
    ({"field": "number", "is": 9_223_372_036_854_775_807}, {"number": 2**63 - 1}, True),
    ({"field": "small", "is": -1}, OTHER, True),
    ({"field": "word", "is": 7}, {"word": "7"}, True),
    ({"field": "word", "is": 7}, {"word": "7.0"}, False),
    # Presence.
    (NO_WORD, EMPTY, True),
    (NO_WORD, DONE, False),
    (NO_WORD, {"word": ""}, False),
    (HAS_WORD, EMPTY, False),
    (HAS_WORD, {"word": ""}, True),
    ({"field": "flag", "missing": True}, {"flag": False}, False),
    ({"field": "number", "missing": False}, {"number": 0}, True),
    # What is nested.
    ({"field": ["data", "status"], "is": "done"}, {"data": {"status": "done"}}, True),
    ({"field": ["data", "status"], "is": "done"}, {"data": {"status": "other"}}, False),
    ({"field": ["data", "status"], "is": "done"}, {"data": {"status": None}}, False),
    ({"field": ["data", "status"], "is": "done"}, {"data": {"status": {"status": "done"}}}, False),
    ({"field": ["data", "status"], "is": "done"}, {"data": ["done"]}, False),
    ({"field": ["data", "status"], "is": "done"}, {"data": {}}, False),
    ({"field": ["data", "status"], "is": "done"}, EMPTY, False),
    ({"field": ["data", "status"], "is": True}, {"data": {"status": True}}, True),
    ({"field": ["data", "status"], "is": True}, {"data": {"status": "true"}}, True),
    ({"field": ["data", "status"], "is": 7}, {"data": {"status": 7}}, True),
    ({"field": ["data", "status"], "begins": "do"}, {"data": {"status": "done"}}, True),
    ({"field": ["data", "status"], "begins": "do"}, {"data": {"status": None}}, False),
    ({"field": ["data", "status"], "missing": True}, {"data": {"status": None}}, True),
    ({"field": ["data", "status"], "missing": True}, {"data": {"other": 1}}, True),
    ({"field": ["data", "status"], "missing": True}, EMPTY, True),
    ({"field": ["data", "status"], "missing": True}, {"data": {"status": ""}}, False),
    ({"field": ["data", "status"], "missing": False}, {"data": {"status": []}}, True),
    ({"field": ["data", "codes", 1], "is": 201}, {"data": {"codes": [200, 201]}}, True),
    ({"field": ["data", "codes", 1], "is": 201}, {"data": {"codes": [201]}}, False),
    ({"field": ["data", "codes", 0], "is": 201}, {"data": {"codes": {"0": 201}}}, False),
    ({"field": ["data", "codes", "0"], "is": 201}, {"data": {"codes": [201]}}, False),
    ({"field": ["data", "codes", "0"], "is": 201}, {"data": {"codes": {"0": 201}}}, True),
    ({"field": ["data", "it's %"], "is": "x"}, {"data": {"it's %": "x"}}, True),
    # Not: what is missing equals nothing, so its negation holds; nothing is unknown.
    ({"not": IS_DONE}, DONE, False),
    ({"not": IS_DONE}, OTHER, True),
    ({"not": IS_DONE}, EMPTY, True),
    ({"not": IS_SET}, EMPTY, True),
    ({"not": IS_ONE}, EMPTY, True),
    ({"not": {"not": IS_DONE}}, EMPTY, False),
    ({"not": {"not": IS_DONE}}, DONE, True),
    ({"not": NO_WORD}, EMPTY, False),
    ({"not": "always"}, DONE, False),
    # All and any.
    ({"all": [IS_DONE]}, DONE, True),
    ({"all": [IS_DONE, IS_SET]}, DONE, True),
    ({"all": [IS_DONE, IS_SET]}, {"word": "done"}, False),
    ({"all": [IS_DONE, IS_SET]}, EMPTY, False),
    ({"not": {"all": [IS_DONE, IS_SET]}}, EMPTY, True),
    ({"not": {"all": [IS_DONE, IS_SET]}}, {"word": "done"}, True),
    ({"any": [IS_DONE, IS_SET]}, {"flag": True}, True),
    ({"any": [IS_DONE, IS_SET]}, {"flag": False}, False),
    ({"any": [IS_DONE, IS_SET]}, EMPTY, False),
    ({"not": {"any": [IS_DONE, IS_SET]}}, EMPTY, True),
    # Nested, where AND and OR must not lean on their neighbours.
    ({"all": [{"any": [IS_DONE, IS_ONE]}, {"not": IS_SET}]}, {"word": "done"}, True),
    ({"all": [{"any": [IS_DONE, IS_ONE]}, {"not": IS_SET}]}, DONE, False),
    ({"any": [{"all": [IS_DONE, IS_ONE]}, NO_WORD]}, EMPTY, True),
    ({"any": [{"all": [IS_DONE, IS_ONE]}, NO_WORD]}, {"word": "done"}, False),
    ({"any": [{"all": [IS_DONE, IS_ONE]}, NO_WORD]}, {"word": "done", "number": 1}, True),
    ({"all": [{"any": ["always", IS_DONE]}, {"not": {"any": [IS_ONE, IS_SET]}}]}, OTHER, True),
    ({"not": {"all": [{"not": IS_DONE}, {"any": [IS_SET, NO_WORD]}]}}, EMPTY, False),
    ({"not": {"all": [{"not": IS_DONE}, {"any": [IS_SET, NO_WORD]}]}}, OTHER, True),
]

BEGINNINGS = {
    "in_progress": {"field": "word", "is": "d"},
    "completed": {
        "all": [{"field": "word", "begins": "do"}, {"not": {"field": "word", "begins": "do-"}}]
    },
    "failed": {"field": "word", "begins": "dq"},
}

STATUSES: list[tuple[Any, Row, str]] = [
    # One column tells: exact, and malformed for all else.
    ({"in_progress": {"field": "word", "is": "new"}, "completed": IS_DONE}, DONE, "COMPLETED"),
    (
        {"in_progress": {"field": "word", "is": "new"}, "completed": IS_DONE},
        {"word": "new"},
        "IN_PROGRESS",
    ),
    ({"in_progress": {"field": "word", "is": "new"}, "completed": IS_DONE}, OTHER, "MALFORMED"),
    ({"in_progress": {"field": "word", "is": "new"}, "completed": IS_DONE}, EMPTY, "MALFORMED"),
    ({"completed": {"field": "word", "is": ""}}, EMPTY, "MALFORMED"),
    ({"completed": {"field": "word", "is": ""}}, {"word": ""}, "COMPLETED"),
    ({"failed": {"field": "number", "is": 0}, "completed": IS_ONE}, OTHER, "FAILED"),
    ({"failed": {"field": "number", "is": 0}, "completed": IS_ONE}, EMPTY, "MALFORMED"),
    # Two that say the same, and two that both hold.
    ({"failed": IS_DONE, "completed": IS_DONE}, DONE, "MALFORMED"),
    ({"failed": IS_ONE, "completed": {"field": "number", "is": "1"}}, DONE, "MALFORMED"),
    ({"failed": IS_SET, "completed": IS_DONE}, DONE, "MALFORMED"),
    ({"failed": IS_SET, "completed": IS_DONE}, {"word": "done"}, "COMPLETED"),
    ({"failed": IS_SET, "completed": IS_DONE}, EMPTY, "MALFORMED"),
    ({"in_progress": NO_WORD, "completed": "always"}, EMPTY, "MALFORMED"),
    ({"in_progress": NO_WORD, "completed": "always"}, DONE, "COMPLETED"),
    ({"in_progress": NO_WORD, "completed": HAS_WORD}, EMPTY, "IN_PROGRESS"),
    ({"in_progress": {"not": IS_DONE}, "completed": IS_DONE}, EMPTY, "IN_PROGRESS"),
    # Beginnings, of which one is another's.
    (BEGINNINGS, {"word": "d"}, "IN_PROGRESS"),
    (BEGINNINGS, {"word": "done"}, "COMPLETED"),
    (BEGINNINGS, {"word": "do: 1"}, "COMPLETED"),
    (BEGINNINGS, {"word": "do-"}, "MALFORMED"),
    (BEGINNINGS, {"word": "dq"}, "FAILED"),
    (BEGINNINGS, OTHER, "MALFORMED"),
    (BEGINNINGS, EMPTY, "MALFORMED"),
    ("unknown", DONE, "UNKNOWN"),
    ("unknown", EMPTY, "UNKNOWN"),
]
