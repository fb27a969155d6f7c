"""The layouts that a configuration names: presets, and files."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

from idemctl.errors import ConfigError, Refused

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from idemctl.layouts.model import Layout
    from idemctl.settings import Settings

_FOLDERS = ("layouts/presets", "layouts/unproven")


def preset_files() -> dict[str, Traversable]:
    """List the presets: the file of each, by its name."""
    from idemctl.documents import shipped

    files = (file for folder in _FOLDERS for file in shipped(folder))
    return {file.name.removesuffix(".yaml"): file for file in files}


@cache
def preset(name: str) -> Layout:
    """Read one preset; there must be one of that name."""
    from idemctl.documents import parse_document, read_model
    from idemctl.layouts.model import Layout

    file = preset_files()[name]
    return read_model(parse_document(file.read_bytes(), file=file.name), Layout)


class Catalogue:
    """Finds layouts by name, and says where a name that leads nowhere was written."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def side(self, name: str, engine: str, layout: str) -> Any:
        """Find one side of the layout that a store names; see `layout`."""
        return getattr(self.layout(name, engine, layout), engine)

    def layout(self, name: str, engine: str, layout: str, *, writes: bool = False) -> Layout:
        """Find the layout that a store names for one of its sides.

        Raises:
            ConfigError: there is no such layout, or it does not describe that side.
            Refused: it is to be written through, and nobody has tried it.
        """
        found = self._layout(name, engine, layout)
        if getattr(found, engine) is None:
            raise ConfigError(
                f"{self._settings.origin(f'stores.{name}.{engine}.layout')}: "
                f"layout {layout} does not describe {engine}",
                hint=f"choose a layout that does, or remove {engine} from the store",
            )
        if writes and found.proven == "source":
            raise Refused(
                f"{name}: layout {layout} was read from the source of its library, and tried "
                "on no store: nothing is changed through it",
                hint=f"idemctl layout show {found.layout} prints it; layout check --live tries it; "
                "then name your file, with proven: live in it",
            )
        return found

    def _layout(self, name: str, engine: str, layout: str) -> Layout:
        from pathlib import Path

        from idemctl.documents import read_document, read_model
        from idemctl.layouts.model import Layout

        if layout.endswith(".yaml"):
            return read_model(read_document(Path(layout)), Layout)
        presets = preset_files()
        if layout not in presets:
            close = get_close_matches(layout, presets, n=1)
            raise ConfigError(
                f"{self._settings.origin(f'stores.{name}.{engine}.layout')}: "
                f"there is no layout {layout}{f'; did you mean {close[0]}?' if close else ''}",
                hint="idemctl layout list shows them all; or write the path of a file",
            )
        return preset(layout)
