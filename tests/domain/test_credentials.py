"""Credentials among headers: in every form in which libraries keep them, and never their values."""

from __future__ import annotations

import pytest

from idemctl.domain.credentials import Exposure, carried
from tests.domain.batches import batch


@pytest.mark.parametrize(
    ("headers", "names"),
    [
        (b'{"Authorization":"Bearer x"}', {"authorization"}),
        (b'{"accept": "*/*", "COOKIE": "sid=1"}', {"cookie"}),
        (b"{'set-cookie': ['sid=1'], 'x-api-key': 'k'}", {"set-cookie", "x-api-key"}),
        (b'[["Set-Cookie", "sid=1"], ["etag", "1"]]', {"set-cookie"}),
        (b'"{\\"proxy-authorization\\":\\"Basic x\\"}"', {"proxy-authorization"}),
        (b'{"(set-cookie,\\"\\\\\\\\x61\\")"}', {"set-cookie"}),
        (b"Host: a\r\nAuthorization: Bearer x\r\n", {"authorization"}),
        (b"authorization=Bearer x", {"authorization"}),
        # Blacked out, empty, or only spoken of.
        (b'{"authorization": null, "cookie": "", "set-cookie": []}', set()),
        (b'{"authorization": "[FILTERED]", "cookie": "***"}', set()),
        (b'{"authorization": "<redacted>", "x-api-key": "REDACTED"}', set()),
        (b'{"vary": "Cookie, Authorization"}', set()),
        (b'{"access-control-allow-headers": "Authorization"}', set()),
        (b'{"x-authorization-mode": "none", "my-cookie": "no"}', set()),
        (b"{}", set()),
        (b"", set()),
        (b"\xff\xfe" * 100, set()),
    ],
)
def test_credentials_are_named_in_every_form(headers: bytes, names: set[str]) -> None:
    assert carried(headers) == names


def test_records_are_counted_once_and_no_value_is_kept() -> None:
    exposure = Exposure()
    for start in range(0, 8, 2):
        exposure.see(
            batch(
                {"keys": b"%d" % start, "fingerprints": b"cookie: hunter2\nauthorization: hunter2"},
                {"keys": b"%d" % (start + 1), "endpoints": b"Set-Cookie: hunter2", "scopes": b"s"},
                {"keys": b"clean"},
            )
        )
    assert (exposure.seen_count, exposure.count) == (12, 8)
    assert exposure.by_name == {"cookie": 4, "authorization": 4, "set-cookie": 4}
    assert exposure.sample == ((b"0", b""), (b"1", b"s"), (b"2", b""), (b"3", b"s"), (b"4", b""))
    assert "hunter2" not in repr(exposure)
