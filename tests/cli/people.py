"""Somebody who sits at the terminal of a process."""

from __future__ import annotations

import os
import pty
import select
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.places import Place


class Person:
    """Sits at the terminal of a process, reads what it shows, and types."""

    def __init__(self, place: Place, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = place.start(*words, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.shown = ""

    def awaits(self, text: str, *, times: int = 1) -> None:
        deadline = time.monotonic() + 20
        while self.shown.count(text) < times:
            assert time.monotonic() < deadline, self.shown
            assert self._read() or self.process.poll() is None, self.shown

    def types(self, line: str) -> None:
        os.write(self._ours, line.encode())

    def ends(self) -> int:
        while self.process.poll() is None:
            self._read()
        while self._read():
            pass
        return self.process.wait(20)

    def close(self) -> None:
        os.close(self._ours)

    def _read(self) -> bool:
        if not select.select([self._ours], [], [], 0.05)[0]:
            return False
        try:
            chunk = os.read(self._ours, 4096)
        except OSError:
            return False
        self.shown += chunk.decode("utf-8", errors="replace")
        return bool(chunk)
