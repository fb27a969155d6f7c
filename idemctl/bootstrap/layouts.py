"""The layouts that a configuration names: presets, and files."""

from __future__ import annotations

import shlex
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from idemctl.errors import ConfigError, Refused

if TYPE_CHECKING:
    from datetime import datetime
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from idemctl.documents import Document
    from idemctl.layouts.model import Layout
    from idemctl.settings import Settings
    from idemctl.settings.model import PostgresSettings, RedisSettings
    from idemctl.state.proofs import Proofs

_FOLDERS = ("layouts/presets", "layouts/unproven")


def preset_files() -> dict[str, Traversable]:
    """List the presets: the file of each, by its name."""
    from idemctl.documents import shipped

    files = (file for folder in _FOLDERS for file in shipped(folder))
    return {file.name.removesuffix(".yaml"): file for file in files}


@cache
def preset(name: str) -> Layout:
    """Read one preset; there must be one of that name."""
    from idemctl.documents import read_model
    from idemctl.layouts.model import Layout

    return read_model(_preset_document(name), Layout)


@cache
def _preset_document(name: str) -> Document:
    from idemctl.documents import parse_document

    file = preset_files()[name]
    return parse_document(file.read_bytes(), file=file.name)


def layout_document(named: Path) -> Document:
    """Read the file of that name or, where there is none, the preset.

    Raises:
        InvalidDocument: it is not strict YAML.
        ConfigError: there is neither, or the file cannot be read.
    """
    from idemctl.documents import read_document

    name = str(named)
    if named.suffix == ".yaml" or named.exists():
        return read_document(named)
    presets = preset_files()
    if name in presets:
        return _preset_document(name)
    close = get_close_matches(name, presets, n=1)
    raise ConfigError(
        f"{name}: no such file, and no layout that comes with idemctl"
        f"{f'; did you mean {close[0]}?' if close else ''}",
        hint="idemctl layout list shows those; a path is taken from the current folder",
    )


def where_of(configured: PostgresSettings | RedisSettings, side: Any) -> str:
    """Name the table, or the prefix, that one side of a store is kept under."""
    name = "table" if hasattr(configured, "table") else "prefix"
    where: str = getattr(configured, name) or getattr(side, name)
    return where


def how_to_prove(store: str, layout: str) -> str:
    """Give the command that tries a layout on the records of a store."""
    return f"idemctl layout check {shlex.quote(layout)} --live --store {store}"


class Catalogue:
    """Finds layouts by name, and says where a name that leads nowhere was written."""

    def __init__(self, settings: Settings, proofs: Proofs) -> None:
        self._settings = settings
        self._proofs = proofs

    def side(self, name: str, engine: str) -> Any:
        """Find one side of the only layout that a store names for it; see `layouts`."""
        (only,) = self.layouts(name, engine)
        return getattr(only, engine)

    def layouts(self, name: str, engine: str, *, writes_at: datetime | None = None) -> list[Layout]:
        """Find the layouts that a store names for one of its sides, in their order.

        Args:
            name: the store.
            engine: the side, `postgres` or `redis`.
            writes_at: when it is to be written through them, if it is.

        Raises:
            ConfigError: there is no such layout, it does not describe that side, or they cannot
                be over one table or prefix.
            Refused: it is to be written through one that nobody has tried on that store.
        """
        from idemctl.layouts.sharing import rows_of

        configured = getattr(self._settings.stores[name], engine)
        found = [self._layout(name, engine, one, writes_at) for one in configured.layouts]
        sides = [getattr(one, engine) for one in found]
        if len({where_of(configured, side) for side in sides}) > 1:
            where = "table" if engine == "postgres" else "prefix"
            raise self._misfit(name, engine, f"have no {where} in common; say which: `{where}:`")
        if len({getattr(side, "container", None) for side in sides}) > 1:
            raise self._misfit(name, engine, "keep records as keys, and as parts of one key")
        for layout, side in zip(found[:-1], sides[:-1], strict=True):
            if engine == "postgres" and rows_of(side) == "always":
                raise self._misfit(
                    name, engine, f"after {layout.layout}, which reads every row, are never asked"
                )
        return found

    def _misfit(self, name: str, engine: str, why: str) -> ConfigError:
        return ConfigError(
            f"{self._settings.origin(f'stores.{name}.{engine}.layout')}: its layouts {why}",
            hint="a record is the first layout's whose conditions hold: name the strictest first",
        )

    def _layout(self, name: str, engine: str, layout: str, writes_at: datetime | None) -> Layout:
        from idemctl.documents import read_model
        from idemctl.layouts.model import Layout

        found = read_model(self._document(name, engine, layout), Layout)
        side = getattr(found, engine)
        if side is None:
            raise ConfigError(
                f"{self._settings.origin(f'stores.{name}.{engine}.layout')}: "
                f"layout {layout} does not describe {engine}",
                hint=f"choose a layout that does, or remove {engine} from the store",
            )
        if writes_at is not None:
            why = self.why_unproven(name, engine, layout, writes_at)
            if why is not None:
                raise Refused(
                    f"{name}: layout {layout} {why}: nothing is changed through it in {engine}",
                    hint=how_to_prove(name, layout),
                )
        return found

    def why_unproven(self, name: str, engine: str, layout: str, now: datetime) -> str | None:
        """Say why nothing may be written through a layout of a store; None where it may."""
        from idemctl.documents import read_model
        from idemctl.domain.proofs import Claim
        from idemctl.layouts.model import Layout

        document = self._document(name, engine, layout)
        found = read_model(document, Layout)
        if found.proven == "live":
            return None
        where = where_of(getattr(self._settings.stores[name], engine), getattr(found, engine))
        claim = Claim(store=name, engine=engine, where=where, digest=document.digest)
        proof = self._proofs.newest(claim)
        why = "was not tried as it is on this store" if proof is None else proof.why_void(now)
        return None if why is None else f"was read from the source of its library, and {why}"

    def _document(self, name: str, engine: str, layout: str) -> Document:
        from pathlib import Path

        from idemctl.documents import read_document

        if layout.endswith(".yaml"):
            return read_document(Path(layout))
        presets = preset_files()
        if layout not in presets:
            close = get_close_matches(layout, presets, n=1)
            raise ConfigError(
                f"{self._settings.origin(f'stores.{name}.{engine}.layout')}: "
                f"there is no layout {layout}{f'; did you mean {close[0]}?' if close else ''}",
                hint="idemctl layout list shows them all; or write the path of a file",
            )
        return _preset_document(layout)
