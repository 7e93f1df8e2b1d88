"""Ops on whole tensors in global memory.

Written by `make generate` from the definitions of the ops.
"""

from typing import TYPE_CHECKING

from pypto._src.lazy import lazy_names as _lazy_names
from pypto._src.ops.names import tensor_abs as abs
from pypto._src.ops.names import tensor_add as add
from pypto._src.ops.names import tensor_and_ as and_
from pypto._src.ops.names import tensor_ands as ands
from pypto._src.ops.names import tensor_arange as arange
from pypto._src.ops.names import tensor_cmp as cmp
from pypto._src.ops.names import tensor_cmps as cmps
from pypto._src.ops.names import tensor_col_argmax as col_argmax
from pypto._src.ops.names import tensor_col_argmin as col_argmin
from pypto._src.ops.names import tensor_col_expand as col_expand
from pypto._src.ops.names import tensor_col_expand_add as col_expand_add
from pypto._src.ops.names import tensor_col_expand_div as col_expand_div
from pypto._src.ops.names import tensor_col_expand_expdif as col_expand_expdif
from pypto._src.ops.names import tensor_col_expand_max as col_expand_max
from pypto._src.ops.names import tensor_col_expand_min as col_expand_min
from pypto._src.ops.names import tensor_col_expand_mul as col_expand_mul
from pypto._src.ops.names import tensor_col_expand_sub as col_expand_sub
from pypto._src.ops.names import tensor_col_max as col_max
from pypto._src.ops.names import tensor_col_min as col_min
from pypto._src.ops.names import tensor_col_prod as col_prod
from pypto._src.ops.names import tensor_col_sum as col_sum
from pypto._src.ops.names import tensor_concat as concat
from pypto._src.ops.names import tensor_cos as cos
from pypto._src.ops.names import tensor_div as div
from pypto._src.ops.names import tensor_expands as expands
from pypto._src.ops.names import tensor_fillpad_expand as fillpad_expand
from pypto._src.ops.names import tensor_fmod as fmod
from pypto._src.ops.names import tensor_fmods as fmods
from pypto._src.ops.names import tensor_full as full
from pypto._src.ops.names import tensor_gather as gather
from pypto._src.ops.names import tensor_gather_mask as gather_mask
from pypto._src.ops.names import tensor_log as log
from pypto._src.ops.names import tensor_maximum as maximum
from pypto._src.ops.names import tensor_maximums as maximums
from pypto._src.ops.names import tensor_minimum as minimum
from pypto._src.ops.names import tensor_minimums as minimums
from pypto._src.ops.names import tensor_mrgsort as mrgsort
from pypto._src.ops.names import tensor_mrgsort2 as mrgsort2
from pypto._src.ops.names import tensor_mrgsort3 as mrgsort3
from pypto._src.ops.names import tensor_mrgsort4 as mrgsort4
from pypto._src.ops.names import tensor_mul as mul
from pypto._src.ops.names import tensor_neg as neg
from pypto._src.ops.names import tensor_not_ as not_
from pypto._src.ops.names import tensor_or_ as or_
from pypto._src.ops.names import tensor_ors as ors
from pypto._src.ops.names import tensor_part_add as part_add
from pypto._src.ops.names import tensor_part_max as part_max
from pypto._src.ops.names import tensor_part_min as part_min
from pypto._src.ops.names import tensor_part_mul as part_mul
from pypto._src.ops.names import tensor_recip as recip
from pypto._src.ops.names import tensor_reinterpret_view as reinterpret_view
from pypto._src.ops.names import tensor_relu as relu
from pypto._src.ops.names import tensor_row_argmax as row_argmax
from pypto._src.ops.names import tensor_row_argmin as row_argmin
from pypto._src.ops.names import tensor_row_expand as row_expand
from pypto._src.ops.names import tensor_row_expand_add as row_expand_add
from pypto._src.ops.names import tensor_row_expand_div as row_expand_div
from pypto._src.ops.names import tensor_row_expand_expdif as row_expand_expdif
from pypto._src.ops.names import tensor_row_expand_max as row_expand_max
from pypto._src.ops.names import tensor_row_expand_min as row_expand_min
from pypto._src.ops.names import tensor_row_expand_mul as row_expand_mul
from pypto._src.ops.names import tensor_row_expand_sub as row_expand_sub
from pypto._src.ops.names import tensor_row_min as row_min
from pypto._src.ops.names import tensor_row_prod as row_prod
from pypto._src.ops.names import tensor_rsqrt as rsqrt
from pypto._src.ops.names import tensor_scatter as scatter
from pypto._src.ops.names import tensor_scatter_mask as scatter_mask
from pypto._src.ops.names import tensor_scatter_update as scatter_update
from pypto._src.ops.names import tensor_shl as shl
from pypto._src.ops.names import tensor_shls as shls
from pypto._src.ops.names import tensor_shr as shr
from pypto._src.ops.names import tensor_shrs as shrs
from pypto._src.ops.names import tensor_sin as sin
from pypto._src.ops.names import tensor_sort32 as sort32
from pypto._src.ops.names import tensor_sqrt as sqrt
from pypto._src.ops.names import tensor_sub as sub
from pypto._src.ops.names import tensor_write as write
from pypto._src.ops.names import tensor_xor as xor
from pypto._src.ops.names import tensor_xors as xors
from pypto._src.ops.tensor import create, dim, read, reshape_view, view
from pypto._src.ops.tensor import create as create_tensor
from pypto._src.ops.tensor_math import (
    add_scalar,
    assemble,
    cast,
    div_scalar,
    exp,
    matmul,
    mul_scalar,
    reshape,
    row_max,
    row_sum,
    sub_scalar,
    transpose,
)
from pypto._src.ops.tensor_math import add_scalar as adds
from pypto._src.ops.tensor_math import div_scalar as divs
from pypto._src.ops.tensor_math import mul_scalar as muls
from pypto._src.ops.tensor_math import sub_scalar as subs

if TYPE_CHECKING:
    from pypto._src.frontend.region_markers import create_l1 as create_l1
    from pypto._src.frontend.region_markers import dump_tag as dump_tag
    from pypto._src.frontend.region_markers import gather_row as gather_row
    from pypto._src.frontend.region_markers import get_block_num as get_block_num
    from pypto._src.frontend.region_markers import get_subblock_idx as get_subblock_idx
    from pypto._src.frontend.region_markers import no_dep as no_dep
    from pypto._src.frontend.region_markers import slice as slice
else:
    __getattr__ = _lazy_names(
        __name__,
        {
            "create_l1": "pypto._src.frontend.region_markers",
            "dump_tag": "pypto._src.frontend.region_markers",
            "gather_row": "pypto._src.frontend.region_markers",
            "get_block_num": "pypto._src.frontend.region_markers",
            "get_subblock_idx": "pypto._src.frontend.region_markers",
            "no_dep": "pypto._src.frontend.region_markers",
            "slice": "pypto._src.frontend.region_markers",
        },
    )


__all__ = [
    "abs",
    "add",
    "add_scalar",
    "adds",
    "and_",
    "ands",
    "arange",
    "assemble",
    "cast",
    "cmp",
    "cmps",
    "col_argmax",
    "col_argmin",
    "col_expand",
    "col_expand_add",
    "col_expand_div",
    "col_expand_expdif",
    "col_expand_max",
    "col_expand_min",
    "col_expand_mul",
    "col_expand_sub",
    "col_max",
    "col_min",
    "col_prod",
    "col_sum",
    "concat",
    "cos",
    "create",
    "create_tensor",
    "dim",
    "div",
    "div_scalar",
    "divs",
    "exp",
    "expands",
    "fillpad_expand",
    "fmod",
    "fmods",
    "full",
    "gather",
    "gather_mask",
    "log",
    "matmul",
    "maximum",
    "maximums",
    "minimum",
    "minimums",
    "mrgsort",
    "mrgsort2",
    "mrgsort3",
    "mrgsort4",
    "mul",
    "mul_scalar",
    "muls",
    "neg",
    "not_",
    "or_",
    "ors",
    "part_add",
    "part_max",
    "part_min",
    "part_mul",
    "read",
    "recip",
    "reinterpret_view",
    "relu",
    "reshape",
    "reshape_view",
    "row_argmax",
    "row_argmin",
    "row_expand",
    "row_expand_add",
    "row_expand_div",
    "row_expand_expdif",
    "row_expand_max",
    "row_expand_min",
    "row_expand_mul",
    "row_expand_sub",
    "row_max",
    "row_min",
    "row_prod",
    "row_sum",
    "rsqrt",
    "scatter",
    "scatter_mask",
    "scatter_update",
    "shl",
    "shls",
    "shr",
    "shrs",
    "sin",
    "sort32",
    "sqrt",
    "sub",
    "sub_scalar",
    "subs",
    "transpose",
    "view",
    "write",
    "xor",
    "xors",
]
