"""DuckDB, opened in one place: bounded, in a folder of its own, without network."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from idemctl.errors import ConfigError, Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    import duckdb

_MEMORY = "512MB"
_POLL_SECONDS = 0.05


@contextmanager
def opened(threads: int, watch: Callable[[], None]) -> Iterator[Database]:
    """Open a DuckDB that keeps to itself, for the length of the block.

    Args:
        threads: processors it may use.
        watch: called while it works; ends that by raising.

    Raises:
        ConfigError: the extra is not installed.
    """
    try:
        import duckdb
    except ImportError:
        raise ConfigError(
            "hits needs duckdb, which is not installed", hint="pip install 'idemctl[hits]'"
        ) from None
    with tempfile.TemporaryDirectory(prefix="idemctl-hits-") as folder:
        settings: dict[str, Any] = {
            "memory_limit": _MEMORY,
            "threads": threads,
            "temp_directory": folder,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
            "preserve_insertion_order": False,
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield Database(connection, watch)


class Database:
    """An open DuckDB."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, watch: Callable[[], None]) -> None:
        self._connection = connection
        self._watch = watch

    def run(self, statement: str) -> Any:
        """Execute a statement beside the watch; a signal waits for what runs in this thread.

        Raises:
            Unreachable: a file cannot be read to its end.
        """
        import duckdb

        with ThreadPoolExecutor(1) as aside:
            running = aside.submit(self._connection.execute, statement)
            try:
                self._await(running)
                return running.result()
            except (
                duckdb.IOException,
                duckdb.InvalidInputException,
                duckdb.OutOfMemoryException,
            ) as error:
                raise _unreadable(error) from None

    def _await(self, running: Future[Any]) -> None:
        while True:
            try:
                running.exception(timeout=_POLL_SECONDS)
            except TimeoutError:
                try:
                    self._watch()
                except BaseException:
                    self._connection.interrupt()
                    raise
            else:
                return


def _unreadable(error: Exception) -> Unreachable:
    said = str(error).partition("\n")[0]
    return Unreachable(
        f"the logs cannot be read to their end: {said}", hint="mend that file, or leave it out"
    )
