"""Records that are broken, of another type, or without a part."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from idemctl.domain.instants import MISSING
from idemctl.domain.records import Flaw, Status
from idemctl.domain.sight import Sight
from tests.checks.places import POSTGRES, REDIS, codes, examined, found
from tests.checks.test_keys import HEALTHY
from tests.domain.batches import at

if TYPE_CHECKING:
    from idemctl.checks.check import Facts


def row(**more: Any) -> dict[str, Any]:
    return HEALTHY | more


@pytest.mark.parametrize(
    ("flaw", "code"),
    [
        (Flaw.NO_STATUS, "malformed-record"),
        (Flaw.UNREADABLE, "malformed-record"),
        (Flaw.TOO_LONG, "malformed-record"),
        (Flaw.FOREIGN_NAME, "malformed-record"),
        (Flaw.OTHER_TYPE, "wrong-type"),
    ],
)
def test_what_is_malformed_has_one_name(flaw: Flaw, code: str) -> None:
    bare = {"status": Status.MALFORMED, "flaw": flaw}
    assert codes(REDIS, bare) == [code]


def test_the_evidence_tells_what_is_malformed() -> None:
    def says(*flaws: Flaw) -> str:
        rows = [{"status": Status.MALFORMED, "flaw": flaw} for flaw in flaws]
        (finding,) = found(REDIS, *rows)
        return finding.evidence

    assert says(Flaw.UNREADABLE) == "the value is not what the layout writes"
    assert says(Flaw.NO_STATUS) == "the status is none that the layout knows"
    assert says(Flaw.NO_STATUS, Flaw.UNREADABLE, Flaw.UNREADABLE) == (
        "the value is not what the layout writes (2); the status is none that the layout knows (1)"
    )


def test_the_evidence_tells_the_true_size_of_what_is_too_long() -> None:
    sizes = {Flaw.TOO_LONG: 104_857_600, Flaw.UNREADABLE: 3}
    rows = [
        {"status": Status.MALFORMED, "flaw": flaw, "size": size} for flaw, size in sizes.items()
    ]
    assert found(REDIS, rows[0])[0].evidence == (
        "the value is too long for any record; the longest of 104,857,600 bytes"
    )
    assert found(REDIS, *rows)[0].evidence == (
        "the value is too long for any record (1); the value is not what the layout writes (1); "
        "the longest of 104,857,600 bytes"
    )


@pytest.mark.parametrize("facts", [POSTGRES, REDIS])
@pytest.mark.parametrize(
    ("status", "is_missed"),
    [(Status.COMPLETED, True), (Status.FAILED, True), (Status.UNKNOWN, False)],
)
def test_what_is_done_has_a_fingerprint(facts: Facts, status: Status, is_missed: bool) -> None:
    expected = ["fingerprint-missing"] if is_missed else []
    assert codes(facts, row(status=status, fingerprints=b"")) == expected
    assert codes(facts, row(status=status)) == []


def test_what_only_the_claim_had_is_missed_once_it_is_done() -> None:
    claim = {
        "status": Status.IN_PROGRESS,
        "lease_until": at(60),
        "completed_at": MISSING,
        "response_status": MISSING,
    }
    rows = [row(**claim), row(fingerprints=b""), row(**claim | {"fingerprints": b""}), row()]
    for facts in (POSTGRES, REDIS):
        (finding,) = found(facts, *rows)
        assert (finding.code, finding.count) == ("fingerprint-missing", 1)


@pytest.mark.parametrize("facts", [POSTGRES, REDIS])
@pytest.mark.parametrize(
    ("fingerprint", "is_digest"),
    [
        (b"None", False),
        (b"null", False),
        (b"UNDEFINED", False),
        (b"[object Object]", False),
        (b"0", False),
        (b"{}", False),
        (b'{"amount":100}', False),
        (b'[{"amount":100}]', False),
        ('{"name":"zo\u00eb"}'.encode(), False),
        # crc32, md5, base64 of sha256, with its name, a number, raw bytes.
        (b"1a2b3c4d", True),
        (b"053b1de0efa712b80fc172253afbe9ce", True),
        (b"n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=", True),
        (b"sha256:9f86d081884c7d659a2feaa0c55ad015", True),
        (b"-1834925123", True),
        (b"{" + bytes(range(130, 160)) + b"}", True),
        (b"{1a2b3c4d", True),
        (b"nullnull", True),
    ],
)
def test_a_fingerprint_is_a_digest(facts: Facts, fingerprint: bytes, is_digest: bool) -> None:
    expected = [] if is_digest else ["fingerprint-no-digest"]
    assert codes(facts, row(fingerprints=fingerprint), row()) == expected


def test_of_a_fingerprint_that_is_the_request_only_the_length_is_told() -> None:
    rows = [row(fingerprints=b'{"card":"4242"}'), row(fingerprints=b"None"), row()]
    (finding,) = found(POSTGRES, *rows)
    assert (finding.count, "4242" in repr(finding)) == (2, False)
    assert finding.evidence == (
        "a word for nothing, or JSON, where the fingerprint is, of 4 to 15 bytes"
    )


def test_a_fingerprint_that_no_column_holds_is_not_missed() -> None:
    facts = replace(POSTGRES, sight=POSTGRES.sight - {Sight.FINGERPRINT})
    assert codes(facts, row(fingerprints=b"")) == []
    (why,) = {one.why for one in examined(facts).cannot_judge if one.code == "fingerprint-missing"}
    assert why == "no fingerprint column"


@pytest.mark.parametrize("facts", [POSTGRES, REDIS])
@pytest.mark.parametrize(
    ("number", "is_error"),
    [(499, False), (500, True), (503, True), (599, True), (600, False), (MISSING, False)],
)
def test_a_server_error_is_no_answer_to_keep(facts: Facts, number: int, is_error: bool) -> None:
    expected = ["stored-server-error"] if is_error else []
    assert codes(facts, row(response_status=number)) == expected


def test_a_failure_may_be_kept_as_one() -> None:
    assert codes(POSTGRES, row(status=Status.FAILED, response_status=503)) == []


def test_the_evidence_tells_the_responses() -> None:
    (one,) = found(POSTGRES, row(response_status=503))
    assert one.evidence == "completed, with the response 503"
    (both,) = found(POSTGRES, row(response_status=503), row(response_status=500))
    assert both.evidence == "completed, with responses from 500 to 503"
