"""Names: how a key and its scope become what follows the prefix in Redis.

A template has the parts `{key}` and `{scope}`; what stands in brackets is left out where
the scope is empty: `[{scope}:]{key}`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEY, _SCOPE = "{key}", "{scope}"
_WORDS = re.compile(r"\{[^{}\[\]]*\}|[{}\[\]]|[^{}\[\]]+")


class Naming:
    """Makes names by one template.

    >>> Naming("[{scope}:]{key}", prefix=b"idem:").names([b"k", b"k"], [b"acme", b""])
    [b'idem:acme:k', b'idem:k']
    """

    def __init__(self, template: str, *, prefix: bytes = b"") -> None:
        """Read a template.

        Raises:
            ValueError: it is none, or does not say where the key goes.
        """
        words = _WORDS.findall(template)
        _refuse_wrong(words)
        self._whole = _form(prefix, words)
        self._key_first = _SCOPE in words and words.index(_KEY) < words.index(_SCOPE)
        self._has_scope, self._is_optional = _SCOPE in words, "[" in words
        if self._is_optional:
            del words[words.index("[") : words.index("]") + 1]
        self._without_scope = _form(prefix, words)

    def names(self, keys: Sequence[bytes], scopes: Sequence[bytes]) -> list[bytes | None]:
        """Give the name, prefix included, for each key with its scope.

        `None` where there is no such name: where the template has no place for a scope.
        """
        whole, without, always = self._whole, self._without_scope, not self._is_optional
        if not self._has_scope:
            written = zip(keys, scopes, strict=True)
            return [None if scope else whole % key for key, scope in written]
        pairs = zip(keys, scopes, strict=True)
        if self._key_first:
            return [
                whole % (key, scope) if scope or always else without % key for key, scope in pairs
            ]
        return [whole % (scope, key) if scope or always else without % key for key, scope in pairs]


def _form(prefix: bytes, words: Sequence[str]) -> bytes:
    """Write a template with `%b` where key and scope go."""
    written = [prefix.replace(b"%", b"%%")]
    for word in words:
        if word in {_KEY, _SCOPE}:
            written.append(b"%b")
        elif word not in {"[", "]"}:
            written.append(word.encode().replace(b"%", b"%%"))
    return b"".join(written)


def _refuse_wrong(words: Sequence[str]) -> None:
    if any(word[0] == "{" and word not in {_KEY, _SCOPE} for word in words) or "}" in words:
        raise ValueError("knows two parts in braces, {key} and {scope}")
    if words.count(_KEY) != 1:
        raise ValueError("must have {key} once")
    if words.count(_SCOPE) > 1:
        raise ValueError("has room for {scope} once")
    marks = [word for word in words if word in {"[", "]", _KEY, _SCOPE}]
    brackets = [mark for mark in marks if mark in {"[", "]"}]
    if brackets not in ([], ["[", "]"]):
        raise ValueError("has room for one part in brackets: [ and then ]")
    if brackets and marks[marks.index("[") + 1 : marks.index("]")] != [_SCOPE]:
        raise ValueError("has in brackets what an empty scope leaves out: {scope}, and no {key}")
