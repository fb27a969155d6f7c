"""A long way to Redis: what is sent arrives a moment later, as from another data centre.

Between what a tool has read and what it writes then lies that moment, each time: a write that
is not protected meets an application that has gone on.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 1 << 16


@contextmanager
def slow_way(redis_url: str, *, delay: float) -> Iterator[str]:
    """Give a URL of the same Redis, where every request is on its way for `delay` seconds."""
    url = urlsplit(redis_url)
    assert url.hostname and url.port  # noqa: PT018 - One fact: it is a server's address.
    target = (url.hostname, url.port)
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []
    sockets: list[socket.socket] = []

    def accept() -> None:
        with suppress(OSError):  # Closed: nobody comes any more.
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(target)
                sockets.extend((near, far))
                for way in ((near, far, delay), (far, near, 0.0)):
                    threads.append(threading.Thread(target=_forward, args=way))
                    threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        port = listener.getsockname()[1]
        yield redis_url.replace(f":{url.port}", f":{port}")
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        for one in sockets:
            one.close()


def _forward(source: socket.socket, sink: socket.socket, delay: float) -> None:
    """Carry bytes until one side ends; what comes close together travels together."""
    under_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def deliver() -> None:
        with suppress(OSError):
            while (parcel := under_way.get())[1]:
                time.sleep(max(0.0, parcel[0] - time.monotonic()))
                sink.sendall(parcel[1])
            sink.shutdown(socket.SHUT_WR)

    delivering = threading.Thread(target=deliver)
    delivering.start()
    data = b"-"
    while data:
        try:
            data = source.recv(_CHUNK)
        except OSError:
            data = b""
        under_way.put((time.monotonic() + delay, data))
    delivering.join()
