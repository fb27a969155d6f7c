"""Text that acts on nothing: not on a terminal, not in Markdown, not in a spreadsheet.

Keys are escaped where they are put into a report. Here is the second wall: whatever else a
stranger wrote, a server's message for one, is as dead as they are.
"""

from __future__ import annotations

import re

_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# HTML knows the entity, and CommonMark, which takes a backslash before most of these, too.
_SIGNS = {ord(sign): f"&#{ord(sign)};" for sign in "<>&@"} | {
    ord(sign): f"\\{sign}" for sign in "\\`*_[]|~"
}
_LINKS = re.compile(r"://|(?<=www)\.", re.IGNORECASE)
_BLOCK = re.compile(r"^(\s*[0-9]*)([#+.)=-])")


def plain(text: str) -> str:
    r"""Show what does not print as `\xNN`, a byte of its UTF-8 each.

    >>> plain("a\x1b[31m\u202e\n")
    'a\\x1b[31m\\xe2\\x80\\xae\\x0a'
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else _as_bytes(sign) for sign in text)


def markdown(text: str, *, opens_block: bool = False) -> str:
    r"""Write text that Markdown shows as it is, without markup, HTML or links.

    Args:
        text: anything.
        opens_block: whether it stands at the start of a line, where a sign makes a heading
            or a list.

    >>> markdown("<b>*x*</b>"), markdown("# http://a", opens_block=True)
    ('&#60;b&#62;\\*x\\*&#60;/b&#62;', '\\# http&#58;//a')
    """
    signs = plain(text).translate(_SIGNS)
    linkless = _LINKS.sub(lambda link: f"&#{ord(link[0][0])};{link[0][1:]}", signs)
    return _BLOCK.sub(r"\1\\\2", linkless) if opens_block else linkless


def cell(text: str) -> str:
    """Write a cell that no spreadsheet takes for a formula.

    >>> cell("=1+1"), cell("evt-1")
    ("'=1+1", 'evt-1')
    """
    shown = plain(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA_STARTS) else shown


def _as_bytes(sign: str) -> str:
    raw = sign.encode("utf-8", errors="surrogatepass")
    return "".join(f"\\x{byte:02x}" for byte in raw)
