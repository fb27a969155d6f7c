r"""Keys are bytes: exact in every operation, escaped in every output.

A stranger chose them. What is printed must never be live: no terminal sequence, no
text direction, no line break.
"""

from __future__ import annotations

import base64

_BACKSLASH = 0x5C


def escape(key: bytes) -> str:
    r"""Show `key` so that nothing in it acts on a terminal, and nothing is lost.

    Printable UTF-8 stays as it is; every other byte, and the backslash, becomes
    `\xNN`, so that two keys never look the same.

    >>> escape(b"evt_1"), escape(b"\xff\x1b[31m"), escape("zo\u00eb\u202e".encode())
    ('evt_1', '\\xff\\x1b[31m', 'zoë\\xe2\\x80\\xae')
    """
    text = key.decode("utf-8", errors="surrogateescape")
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(
        character if _is_plain(character) else _as_bytes(character) for character in text
    )


def key_fields(key: bytes) -> dict[str, str]:
    """Give the JSON members that carry `key`: escaped, and base64 where that changed it."""
    shown = escape(key)
    fields = {"key": shown}
    if shown.encode("utf-8") != key:
        fields["key_base64"] = base64.b64encode(key).decode("ascii")
    return fields


def is_text(key: bytes) -> bool:
    r"""Tell whether a text column could hold these bytes: UTF-8 without NUL.

    >>> is_text("zo\u00eb".encode()), is_text(b"\xff"), is_text(b"a\0b")
    (True, False, False)
    """
    try:
        return "\0" not in key.decode("utf-8")
    except UnicodeDecodeError:
        return False


def _is_plain(character: str) -> bool:
    return character.isprintable() and ord(character) != _BACKSLASH


def _as_bytes(character: str) -> str:
    raw = character.encode("utf-8", errors="surrogateescape")
    return "".join(f"\\x{byte:02x}" for byte in raw)
