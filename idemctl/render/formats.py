"""The forms in which a report can be printed."""

from __future__ import annotations

import csv
import io
import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TextIO

from idemctl.errors import ExitStatus
from idemctl.render.envelope import envelope, header
from idemctl.render.inert import cell, markdown, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from idemctl.domain.outcomes import Report, Sheet

_NAGIOS = {
    ExitStatus.OK: (0, "OK"),
    ExitStatus.FINDINGS: (1, "WARNING"),
    ExitStatus.PARTIAL: (2, "CRITICAL"),
    ExitStatus.REFUSED: (2, "CRITICAL"),
    ExitStatus.NOT_RECOVERED: (2, "CRITICAL"),
}


class Format(StrEnum):
    """What `--output` takes."""

    TABLE = "table"
    JSON = "json"
    NDJSON = "ndjson"
    CSV = "csv"
    MARKDOWN = "markdown"
    NAGIOS = "nagios"


def show(report: Report, form: Format, stream: TextIO, *, color: bool) -> int:
    """Print a report; give the exit code, which only Nagios wants to be another one."""
    if form is Format.TABLE:
        _show_table(report, stream, color=color)
    else:
        stream.writelines(line + "\n" for line in _WRITERS[form](report))
    stream.flush()
    if form is Format.NAGIOS:
        return _NAGIOS.get(report.status, (3, "UNKNOWN"))[0]
    return int(report.status)


def _json(report: Report) -> Iterator[str]:
    # ASCII alone: whatever stdout's encoding is, the document stays valid.
    yield json.dumps(envelope(report), indent=2)


def _ndjson(report: Report) -> Iterator[str]:
    yield json.dumps(header(report))
    for item in report.items:
        yield json.dumps(item)
    whole = envelope(report)
    del whole["items"]
    whole["summary"].pop("truncated", None)
    yield json.dumps(whole)


def _csv(report: Report) -> Iterator[str]:
    headings = list(dict.fromkeys(name for item in report.items for name in item))
    rows: list[list[Any]] = [headings] if headings else []
    rows += ([item.get(name) for name in headings] for item in report.items)
    for row in rows:
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow([_cell(value) for value in row])
        yield line.getvalue()


def _markdown(report: Report) -> Iterator[str]:
    from tabulate import tabulate

    for sheet in report.sheets:
        if sheet.title:
            yield f"## {markdown(sheet.title)}\n"
        if sheet.rows:
            rows = [[markdown(text) for text in row] for row in sheet.rows]
            yield tabulate(rows, sheet.headings, tablefmt="github", disable_numparse=True) + "\n"
        for line in sheet.lines:
            yield f"{markdown(line, opens_block=True)}\n"


def _nagios(report: Report) -> Iterator[str]:
    _, word = _NAGIOS.get(report.status, (3, "UNKNOWN"))
    numbers = " ".join(
        f"{name}={value}"
        for name, value in report.summary.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )
    said = plain(report.headline).replace("|", "/")
    yield f"IDEMCTL {word} - {said}" + (f" | {numbers}" if numbers else "")


_WRITERS: dict[Format, Callable[[Report], Iterator[str]]] = {
    Format.JSON: _json,
    Format.NDJSON: _ndjson,
    Format.CSV: _csv,
    Format.MARKDOWN: _markdown,
    Format.NAGIOS: _nagios,
}


def _show_table(report: Report, stream: TextIO, *, color: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(
        file=stream,
        color_system="auto" if color else None,
        force_terminal=color or None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )
    for number, sheet in enumerate(report.sheets):
        if number:
            console.print()
        if sheet.title:
            console.print(Text(plain(sheet.title), style="bold"))
        if sheet.rows:
            _print_rows(sheet, console, stream)
        for line in sheet.lines:
            console.print(Text(plain(line)))


def _print_rows(sheet: Sheet, console: Any, stream: TextIO) -> None:
    if not stream.isatty():
        from tabulate import tabulate

        rows = [[plain(text) for text in row] for row in sheet.rows]
        shown = tabulate(rows, sheet.headings, tablefmt="simple", disable_numparse=True)
        stream.write(shown + "\n")
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in sheet.headings:
        # A key that is too long goes on in the next line; a part of it is no key.
        table.add_column(heading, overflow="fold")
    for row in sheet.rows:
        table.add_row(*(Text(plain(text)) for text in row))
    console.print(table, soft_wrap=False)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float):
        return json.dumps(value)
    return cell(value if isinstance(value, str) else json.dumps(value))
