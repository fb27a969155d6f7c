"""Hits as rates: what keyed requests found, what was to be expected, and where it was more.

A hit count follows the traffic, so a count alone says nothing; here every hit is held against
the requests that could have been one.
"""

from idemctl.domain.traffic.baseline import Basis
from idemctl.domain.traffic.counts import BUCKET_SECONDS, Hit, Series, Traffic
from idemctl.domain.traffic.reading import Fault, Reading, Sample
from idemctl.domain.traffic.spikes import Judged, Spike, find_spikes

__all__ = [
    "BUCKET_SECONDS",
    "Basis",
    "Fault",
    "Hit",
    "Judged",
    "Reading",
    "Sample",
    "Series",
    "Spike",
    "Traffic",
    "find_spikes",
]
