"""Documents on disk: a person's, and what comes with idemctl."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from idemctl.documents.reading import SIZE_LIMIT, parse_document
from idemctl.errors import ConfigError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from idemctl.documents.places import Document


def read_document(file: Path, *, shown_as: str | None = None) -> Document:
    """Read a YAML file.

    Args:
        file: any readable file, a pipe included.
        shown_as: the name that places carry; the path itself by default.

    Raises:
        InvalidDocument: it is not strict YAML.
        ConfigError: it cannot be read.
    """
    name = shown_as or str(file)
    try:
        with file.open("rb") as stream:
            # One byte over the limit is enough to refuse, whatever the file's size.
            content = stream.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        raise ConfigError(
            f"{name}: no such file", hint="check the path; it is taken from the current folder"
        ) from None
    except IsADirectoryError:
        raise ConfigError(
            f"{name}: is a folder, not a file", hint="name the YAML file inside it"
        ) from None
    except PermissionError:
        raise ConfigError(
            f"{name}: permission denied", hint="let the user that runs idemctl read it"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"{name}: cannot be read: {reason}", hint="check the path and the disk behind it"
        ) from None
    return parse_document(content, file=name)


def shipped(kind: str) -> list[Traversable]:
    """List the YAML files that come with idemctl in one of its folders, by name.

    >>> [file.name for file in shipped("no/such/folder")]
    []

    Args:
        kind: the folder under the package, such as `layouts/presets`.
    """
    folder = files("idemctl").joinpath(*kind.split("/"))
    if not folder.is_dir():
        return []
    return sorted(
        (file for file in folder.iterdir() if file.name.endswith(".yaml")),
        key=lambda file: file.name,
    )


def shipped_text(name: str) -> str:
    """Read a text that comes with idemctl, by its path under the package.

    >>> shipped_text("schemas/own.sql").startswith("--")
    True
    """
    return files("idemctl").joinpath(*name.split("/")).read_text("utf-8")
