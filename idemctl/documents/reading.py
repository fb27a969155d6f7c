"""A text to a strict document: what may be looked at before it is parsed, and after."""

from __future__ import annotations

import re

from idemctl.documents.places import Document, InvalidDocument, Place, Problem

SIZE_LIMIT = 1024 * 1024
"""Bytes that a document may have."""

# Control characters, lone surrogates, and line breaks that YAML 1.1 sees and editors do not.
_FORBIDDEN = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_PHRASES = {
    "could not find expected ':'": "a key without ': ' behind it",
    "exceeded maximum nesting depth": "nested too deep",
    "found unexpected end of stream": "the file ends here",
    "mapping values are not allowed in this context": (
        "a ': ' with no key before it; put text in quotes, and each key on a line of its own"
    ),
}


def parse_document(text: str | bytes, *, file: str) -> Document:
    """Read one YAML document.

    An empty document has the data None.

    Args:
        text: the content; bytes must be UTF-8.
        file: the name that places carry.

    Raises:
        InvalidDocument: it is not strict YAML, or over a limit; with up to a hundred
            problems, each with its place.
    """
    from idemctl.documents import building

    content = _checked(text, file)
    builder = building.Builder(file)
    try:
        root, data = builder.read(content)
    except building.PARSE_ERRORS as error:
        builder.problems.append(_syntax_problem(error, content, file))
    if builder.problems:
        raise InvalidDocument(builder.problems)
    read = text if isinstance(text, bytes) else text.encode()
    return Document(file=file, data=data, root=root, content=read)


def _checked(text: str | bytes, file: str) -> str:
    """Decode and look for what no document may hold, before anything is parsed."""
    if len(text) > SIZE_LIMIT:
        raise InvalidDocument(
            [Problem(Place(file, 1, 1), "larger than 1 MiB, the most a document may have")]
        )
    if isinstance(text, bytes):
        text = _decoded(text, file)
    text = text.removeprefix("\ufeff")
    if found := _FORBIDDEN.search(text):
        place = _end_of(text[: found.start()], file)
        raise InvalidDocument(
            [
                Problem(
                    place,
                    f"the character U+{ord(found[0]):04X} is not allowed; in double quotes "
                    "an escape such as \\u001b stands for it",
                )
            ]
        )
    return text


def _end_of(text: str, file: str) -> Place:
    lines = re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))
    return Place(file, len(lines), len(lines[-1]) + 1)


def _decoded(content: bytes, file: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        place = _end_of(content[: error.start].decode("utf-8"), file)
        byte = f"0x{content[error.start]:02x}"
    raise InvalidDocument([Problem(place, f"the byte {byte} is not UTF-8; save the file as UTF-8")])


def _syntax_problem(error: Exception, content: str, file: str) -> Problem:
    mark, begun = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    if mark is None:
        return Problem(Place(file, 1, 1), "not YAML")
    place = Place(file, mark.line + 1, mark.column + 1)
    if "\t" in _indentation(content, mark.line):
        return Problem(place, "a tab indents this line; YAML takes spaces only")
    said = str(getattr(error, "problem", None) or "not YAML")
    said = _PHRASES.get(said, said)
    if begun is not None and (begun.line, begun.column) != (mark.line, mark.column):
        said += f", {getattr(error, 'context', None)} begun at {begun.line + 1}:{begun.column + 1}"
    return Problem(place, said)


def _indentation(content: str, line: int) -> str:
    lines = re.split(r"\r\n|\r|\n", content)
    text = lines[line] if line < len(lines) else ""
    return text[: len(text) - len(text.lstrip())]
