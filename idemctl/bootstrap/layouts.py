"""The layouts that a configuration names: presets, and files."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from idemctl.errors import ConfigError

if TYPE_CHECKING:
    from idemctl.layouts.model import Layout
    from idemctl.settings import Settings

_PRESETS = "layouts/presets"


class Catalogue:
    """Finds layouts by name, and says where a name that leads nowhere was written."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def side(self, name: str, engine: str, layout: str) -> Any:
        """Find one side of the layout that a store names."""
        side = getattr(self._layout(name, engine, layout), engine)
        if side is None:
            raise ConfigError(
                f"{self._settings.origin(f'stores.{name}.{engine}.layout')}: "
                f"layout {layout} does not describe {engine}",
                hint=f"choose a layout that does, or remove {engine} from the store",
            )
        return side

    def _layout(self, name: str, engine: str, layout: str) -> Layout:
        from pathlib import Path

        from idemctl.documents import read_document, read_model
        from idemctl.layouts.model import Layout

        if layout.endswith(".yaml"):
            return read_model(read_document(Path(layout)), Layout)
        if layout not in self._presets:
            raise ConfigError(
                f"{self._settings.origin(f'stores.{name}.{engine}.layout')}: "
                f"there is no layout {layout}",
                hint="there are: " + ", ".join(sorted(self._presets)) + ", or the path of a file",
            )
        return self._presets[layout]

    @cached_property
    def _presets(self) -> dict[str, Layout]:
        from idemctl.documents import parse_document, read_model, shipped
        from idemctl.layouts.model import Layout

        documents = (
            parse_document(file.read_bytes(), file=file.name) for file in shipped(_PRESETS)
        )
        layouts = (read_model(document, Layout) for document in documents)
        return {layout.layout: layout for layout in layouts}
