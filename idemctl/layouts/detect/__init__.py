"""Which layout writes so: tables told by their columns, keys by what they hold.

Pure: what was seen goes in, and claims come out. A name alone proves nothing, for many
libraries have the same; where two layouts fit alike, both are given.
"""

from idemctl.layouts.detect.claims import Claim
from idemctl.layouts.detect.keys import claims_on_keys
from idemctl.layouts.detect.places import (
    Candidate,
    Configured,
    Mismatch,
    Place,
    layouts_of,
    place_of,
    why_no_prefix,
    why_no_table,
)
from idemctl.layouts.detect.seen import SeenKey, SeenTable
from idemctl.layouts.detect.settling import Settled, Verdict, settled
from idemctl.layouts.detect.stores import stores_of, why_no_store
from idemctl.layouts.detect.tables import TableClaim, claims_on_table

__all__ = [
    "Candidate",
    "Claim",
    "Configured",
    "Mismatch",
    "Place",
    "SeenKey",
    "SeenTable",
    "Settled",
    "TableClaim",
    "Verdict",
    "claims_on_keys",
    "claims_on_table",
    "layouts_of",
    "place_of",
    "settled",
    "stores_of",
    "why_no_prefix",
    "why_no_store",
    "why_no_table",
]
