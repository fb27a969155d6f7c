"""Leaves long texts out of what a server sends, before anybody keeps them."""

from __future__ import annotations

_END = b"\r\n"
_TEXT = ord("$")
_NULL = b"$-1\r\n"


class Sieve:
    r"""Puts a null in the place of each text that is too long, however it arrives.

    >>> sieve = Sieve(4)
    >>> sieve.sifted(b"*2\r\n$4\r\nfour\r\n$5\r\nfi"), sieve.sifted(b"ve!\r\n:1\r\n")
    (b'*2\r\n$4\r\nfour\r\n$-1\r\n', b':1\r\n')
    """

    def __init__(self, longest: int) -> None:
        """Keep texts of up to `longest` bytes."""
        self._longest = longest
        self._left = 0
        """Bytes of a text, with its end, that are still to come;"""
        self._is_kept = True
        """and whether they are wanted."""
        self._cut = b""
        """The beginning of a line whose end has not come yet."""

    def sifted(self, arrived: bytes) -> bytes:
        """Give of what arrived what is to be read."""
        arrived = self._cut + arrived
        kept, at = [], 0
        while at < len(arrived):
            if self._left:
                end = min(at + self._left, len(arrived))
                self._left -= end - at
                if self._is_kept:
                    kept.append(arrived[at:end])
                at = end
                continue
            end = arrived.find(_END, at) + len(_END)
            if end < at + len(_END):
                break
            kept.append(self._header(arrived[at:end]))
            at = end
        self._cut = arrived[at:]
        return b"".join(kept)

    def _header(self, line: bytes) -> bytes:
        if line[0] != _TEXT or line == _NULL:
            return line
        length = int(line[1:])
        self._left, self._is_kept = length + len(_END), length <= self._longest
        return line if self._is_kept else _NULL
