"""Strict YAML: plain data, and a place (file:line:column) for every path in it.

Configuration, policies, layouts and runbooks all come through this door. `read_document`
takes a file, `parse_document` a text, `read_model` fits a document to a pydantic model,
`shipped` finds the files that come with idemctl, and `shipped_text` reads one that is no YAML.
"""

from idemctl.documents.files import read_document, shipped, shipped_text
from idemctl.documents.models import read_model
from idemctl.documents.places import Document, InvalidDocument, Place, Problem
from idemctl.documents.reading import parse_document

__all__ = [
    "Document",
    "InvalidDocument",
    "Place",
    "Problem",
    "parse_document",
    "read_document",
    "read_model",
    "shipped",
    "shipped_text",
]
