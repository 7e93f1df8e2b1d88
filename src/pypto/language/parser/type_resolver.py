"""From annotations to types, and back."""

from pypto._src.frontend.syntax.annotations import (
    annotation_text,
    declared_type,
    parameter_type,
    result_types,
    shape_of,
    type_of,
)

__all__ = [
    "annotation_text",
    "declared_type",
    "parameter_type",
    "result_types",
    "shape_of",
    "type_of",
]
