"""What a run works on: flags over environment over idemctl.yaml over the user's file.

`load_settings` finds and reads them once; `Settings` answers from then on, with the
origin of each value. `Configuration` is the model of the file.
"""

from idemctl.settings.loading import Flags, load_settings
from idemctl.settings.model import Configuration, PostgresSettings, RedisSettings, StoreSettings
from idemctl.settings.settings import Settings

__all__ = [
    "Configuration",
    "Flags",
    "PostgresSettings",
    "RedisSettings",
    "Settings",
    "StoreSettings",
    "load_settings",
]
