"""Codecs: how the bytes of a Redis value become the members of a record.

A codec is a word, or steps that are taken one after the other. The set is closed, and none
of its steps can run code: what needs a language's own deserializer is `opaque`, and is never
taken apart.
"""

from __future__ import annotations

import binascii
import zlib
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, StrictStr, Tag

from idemctl.domain.records import Flaw

if TYPE_CHECKING:
    from collections.abc import Callable

    Row = Mapping[Any, Any]

_LONGEST = 16 * 2**20
"""So many bytes come out of a compressed value at most."""
_GZIP = 16 + zlib.MAX_WBITS
_ERRORS = (msgspec.DecodeError, RecursionError, zlib.error, binascii.Error, ValueError)


class Word(StrEnum):
    """A step that needs no more than its name."""

    FLAG = "flag"
    """Only the key says something, for its value says nothing."""
    OPAQUE = "opaque"
    """Only the key says something, for its value must not be taken apart; as those of"""
    PICKLE = "pickle"
    """Python's,"""
    PHP = "php"
    """PHP's, or"""
    JAVA = "java"
    """Java's own serialization, whose readers run what they read."""
    HASH = "hash"
    """The key holds a hash, whose fields are the members."""
    BLANK = "blank"
    """An empty value is a record without members."""
    TEXT = "text"
    """The whole is one member, called `value`."""
    JSON = "json"
    MSGPACK = "msgpack"
    GZIP = "gzip"
    ZLIB = "zlib"
    BASE64 = "base64"
    HEX = "hex"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Strip(_Part):
    """Take away the end that every value has."""

    strip: Annotated[StrictStr, Field(min_length=1)]


class Member(_Part):
    """Go on with one member, which is a text that holds the rest."""

    member: Annotated[StrictStr, Field(min_length=1)]


def _kind(step: object) -> str | None:
    if isinstance(step, Mapping):
        return next((kind for word, kind in _KINDS.items() if word in step), None)
    return type(step).__name__ if isinstance(step, Strip | Member) else "Word"


_KINDS = {"strip": "Strip", "member": "Member"}
Step = Annotated[
    Annotated[Word, Tag("Word")]
    | Annotated[Strip, Tag("Strip")]
    | Annotated[Member, Tag("Member")],
    Discriminator(
        _kind,
        custom_error_type="step",
        custom_error_message="is no step: write a word, or a mapping with strip or member",
    ),
]
Steps = tuple[Step, ...]


def _pipeline(codec: Word | Steps) -> Steps:
    steps: Steps = (codec,) if isinstance(codec, Word) else codec
    if len(steps) == 1 and steps[0] in _PRESENCE:
        return steps
    is_taken_apart = False
    for at, step in enumerate(steps):
        if step in {Word.HASH, Word.BLANK} and at:
            raise ValueError(f"{_name(step)} comes first: it says what the key holds")
        if step in _PRESENCE:
            raise ValueError(f"{_name(step)} stands alone")
        if isinstance(step, Member) != is_taken_apart:
            wanted = "a member" if is_taken_apart else "json, msgpack, text or hash"
            raise ValueError(f"{_name(step)} cannot come there: {wanted} has to come before it")
        is_taken_apart = step in _APART
    if not is_taken_apart:
        raise ValueError("must end with json, msgpack, text or hash; or be flag or opaque")
    return steps


def _name(step: Word | Strip | Member) -> str:
    return step.value if isinstance(step, Word) else next(iter(type(step).model_fields))


if TYPE_CHECKING:
    Codec = Steps
else:
    Codec = Annotated[
        Annotated[Word, Tag("word")] | Annotated[Steps, Tag("steps")],
        Discriminator(lambda given: "steps" if isinstance(given, list | tuple) else "word"),
        AfterValidator(_pipeline),
    ]
"""One word, or steps; a tuple of steps once it was read."""
FLAG: Steps = (Word.FLAG,)
JSON: Steps = (Word.JSON,)
_OPAQUE = {Word.OPAQUE, Word.PICKLE, Word.PHP, Word.JAVA}
_PRESENCE = {Word.FLAG, *_OPAQUE}
_APART = {Word.JSON, Word.MSGPACK, Word.TEXT, Word.HASH}
_NO_ROW: Row = {}
_BLANK: dict[object, bytes] = {Word.JSON: b"{}", Word.MSGPACK: b"\x80"}
"""What an empty value stands for."""


Value = bytes | Mapping[str, bytes | None]
"""What a key holds: a string, or the fields of a hash that are needed, `None` where one is not."""


def is_presence(codec: Steps) -> bool:
    """Whether only the presence of a key says something."""
    return codec[0] in _PRESENCE


def is_opaque(codec: Steps) -> bool:
    """Whether values are never taken apart, for their readers run what they read."""
    return codec[0] in _OPAQUE


def decoding(codec: Steps) -> Callable[[Value | Flaw], Row | Flaw]:
    """Turn a codec into a function from what a key holds to its members.

    Where only presence counts there are none, and an array's are its items, by their numbers.
    What is not what the codec writes is `UNREADABLE`; what would become too large, `TOO_LONG`.
    """
    if is_presence(codec):
        return lambda value: value if isinstance(value, Flaw) else _NO_ROW
    unwrap, take_apart = unwrapping(codec), _function(codec[-1])

    def decode(value: Value | Flaw) -> Row | Flaw:
        whole: Any = value if unwrap is None else unwrap(value)
        if whole is None or isinstance(whole, Flaw):
            return _NO_ROW if whole is None else whole
        try:
            row = take_apart(whole)
        except _ERRORS:
            return Flaw.UNREADABLE
        if isinstance(row, list):
            return dict(enumerate(row))
        return row if isinstance(row, dict) else Flaw.UNREADABLE

    return decode


def unwrapping(codec: Steps) -> Callable[[Value | Flaw], Any] | None:
    """Turn all steps but the last into a function; `None` where there is no other step.

    What comes out is what the last step takes apart, or what is wrong; `None` is no member.
    """
    may_be_blank = codec[0] is Word.BLANK
    blank = _BLANK.get(codec[-1])
    steps = [_function(step) for step in codec[may_be_blank:-1]]
    if len(codec) == 1:
        return None

    def unwrap(value: Any) -> Any:
        if isinstance(value, Flaw):
            return value
        if may_be_blank and not value:
            return blank
        try:
            for step in steps:
                value = step(value)
        except _TooLong:
            return Flaw.TOO_LONG
        except _ERRORS:
            return Flaw.UNREADABLE
        return value

    return unwrap


class _TooLong(Exception):
    """More comes out of a value than any record holds."""


def _function(step: Word | Strip | Member) -> Callable[[Any], Any]:
    match step:
        case Strip(strip=end):
            return lambda value: _stripped(value, end.encode())
        case Member(member=name):
            return lambda members: _text_of(members, name)
    return _FUNCTIONS[step]


def _stripped(value: bytes, end: bytes) -> bytes:
    if not value.endswith(end):
        raise ValueError("has another end")
    return value[: -len(end)]


def _text_of(members: object, name: str) -> bytes:
    text = members.get(name) if isinstance(members, dict) else None
    if isinstance(text, str):
        return text.encode()
    if isinstance(text, bytes):
        return text
    raise ValueError("is no text")


def _inflated(value: bytes, kind: int) -> bytes:
    inflater = zlib.decompressobj(kind)
    whole = inflater.decompress(value, _LONGEST)
    if inflater.unconsumed_tail:
        raise _TooLong
    if not inflater.eof:
        raise ValueError("is cut off")
    return whole


_FUNCTIONS: dict[Word, Callable[[Any], Any]] = {
    Word.HASH: lambda fields: fields,
    Word.TEXT: lambda value: {"value": value},
    # A number beyond all is one, as JavaScript and Python read it: it breaks no record.
    Word.JSON: msgspec.json.Decoder(float_hook=float).decode,
    Word.MSGPACK: msgspec.msgpack.decode,
    Word.GZIP: lambda value: _inflated(value, _GZIP),
    Word.ZLIB: lambda value: _inflated(value, zlib.MAX_WBITS),
    Word.BASE64: lambda value: binascii.a2b_base64(value, strict_mode=True),
    Word.HEX: binascii.unhexlify,
}
