"""doctor: can idemctl work here? One line for each thing that must be right."""

from idemctl.operations.doctor.doctor import doctor
from idemctl.operations.doctor.grants import Role, Roles, roles
from idemctl.operations.doctor.here import Here, look_here
from idemctl.operations.doctor.lines import Line, Outcome
from idemctl.operations.doctor.roads import Keeping, Road, Side

__all__ = [
    "Here",
    "Keeping",
    "Line",
    "Outcome",
    "Road",
    "Role",
    "Roles",
    "Side",
    "doctor",
    "look_here",
    "roles",
]
