"""Ops on tiles, the blocks of data in a core's memories.

Written by `make generate` from the definitions of the ops.
"""

from typing import TYPE_CHECKING

from pypto._src.ir.enums import MaskPattern
from pypto._src.lazy import lazy_names as _lazy_names
from pypto._src.ops.compare_select import cmp, cmps, prelu, sel
from pypto._src.ops.elementwise import (
    abs,
    add,
    adds,
    cast,
    div,
    divs,
    exp,
    expands,
    log,
    lrelu,
    maximum,
    maxs,
    minimum,
    mins,
    mul,
    muls,
    neg,
    recip,
    relu,
    rsqrt,
    sqrt,
    sub,
    subs,
)
from pypto._src.ops.elementwise import maxs as maximums
from pypto._src.ops.elementwise import mins as minimums
from pypto._src.ops.matmul import (
    batch_matmul,
    gemv,
    gemv_acc,
    gemv_bias,
    matmul,
    matmul_acc,
    matmul_bias,
)
from pypto._src.ops.memory import extract, l0c_store, load, move, store
from pypto._src.ops.names import block_addc as addc
from pypto._src.ops.names import block_addsc as addsc
from pypto._src.ops.names import block_and_ as and_
from pypto._src.ops.names import block_ands as ands
from pypto._src.ops.names import block_arange as arange
from pypto._src.ops.names import block_col_argmax as col_argmax
from pypto._src.ops.names import block_col_argmin as col_argmin
from pypto._src.ops.names import block_col_expand_add as col_expand_add
from pypto._src.ops.names import block_col_expand_expdif as col_expand_expdif
from pypto._src.ops.names import block_col_expand_max as col_expand_max
from pypto._src.ops.names import block_col_expand_min as col_expand_min
from pypto._src.ops.names import block_col_max as col_max
from pypto._src.ops.names import block_col_min as col_min
from pypto._src.ops.names import block_col_prod as col_prod
from pypto._src.ops.names import block_col_sum as col_sum
from pypto._src.ops.names import block_concat as concat
from pypto._src.ops.names import block_cos as cos
from pypto._src.ops.names import block_fillpad_expand as fillpad_expand
from pypto._src.ops.names import block_fmod as fmod
from pypto._src.ops.names import block_fmods as fmods
from pypto._src.ops.names import block_gather as gather
from pypto._src.ops.names import block_gather_along as gather_along
from pypto._src.ops.names import block_gather_mask as gather_mask
from pypto._src.ops.names import block_max as max
from pypto._src.ops.names import block_min as min
from pypto._src.ops.names import block_mrgsort as mrgsort
from pypto._src.ops.names import block_mrgsort2 as mrgsort2
from pypto._src.ops.names import block_mrgsort3 as mrgsort3
from pypto._src.ops.names import block_mrgsort4 as mrgsort4
from pypto._src.ops.names import block_not_ as not_
from pypto._src.ops.names import block_or_ as or_
from pypto._src.ops.names import block_ors as ors
from pypto._src.ops.names import block_part_add as part_add
from pypto._src.ops.names import block_part_max as part_max
from pypto._src.ops.names import block_part_min as part_min
from pypto._src.ops.names import block_part_mul as part_mul
from pypto._src.ops.names import block_read as read
from pypto._src.ops.names import block_reinterpret_view as reinterpret_view
from pypto._src.ops.names import block_rem as rem
from pypto._src.ops.names import block_rems as rems
from pypto._src.ops.names import block_row_argmax as row_argmax
from pypto._src.ops.names import block_row_argmin as row_argmin
from pypto._src.ops.names import block_row_expand as row_expand
from pypto._src.ops.names import block_row_expand_expdif as row_expand_expdif
from pypto._src.ops.names import block_row_expand_max as row_expand_max
from pypto._src.ops.names import block_row_expand_min as row_expand_min
from pypto._src.ops.names import block_row_expand_to as row_expand_to
from pypto._src.ops.names import block_row_prod as row_prod
from pypto._src.ops.names import block_scatter as scatter
from pypto._src.ops.names import block_scatter_along as scatter_along
from pypto._src.ops.names import block_scatter_mask as scatter_mask
from pypto._src.ops.names import block_scatter_update as scatter_update
from pypto._src.ops.names import block_sel_or_number as sel_or_number
from pypto._src.ops.names import block_sels as sels
from pypto._src.ops.names import block_set_validshape as set_validshape
from pypto._src.ops.names import block_shl as shl
from pypto._src.ops.names import block_shls as shls
from pypto._src.ops.names import block_shr as shr
from pypto._src.ops.names import block_shrs as shrs
from pypto._src.ops.names import block_sin as sin
from pypto._src.ops.names import block_sort32 as sort32
from pypto._src.ops.names import block_store_add as store_add
from pypto._src.ops.names import block_subc as subc
from pypto._src.ops.names import block_subsc as subsc
from pypto._src.ops.names import block_sum as sum
from pypto._src.ops.names import block_tri as tri
from pypto._src.ops.names import block_write as write
from pypto._src.ops.names import block_xor as xor
from pypto._src.ops.names import block_xors as xors
from pypto._src.ops.new_tiles import alloc, create_tile, fillpad, full, vec_move, view
from pypto._src.ops.new_tiles import create_tile as create
from pypto._src.ops.new_tiles import fillpad as fillpad_inplace
from pypto._src.ops.reduce import (
    col_expand,
    col_expand_div,
    col_expand_mul,
    col_expand_sub,
    row_expand_add,
    row_expand_div,
    row_expand_mul,
    row_expand_sub,
    row_max,
    row_min,
    row_sum,
)
from pypto._src.ops.reshaping import reshape, transpose
from pypto._src.ops.system import get_block_idx

if TYPE_CHECKING:
    from pypto._src.frontend.region_markers import aiv_shard as aiv_shard
    from pypto._src.frontend.region_markers import gather_row as gather_row
    from pypto._src.frontend.region_markers import get_block_num as get_block_num
    from pypto._src.frontend.region_markers import get_subblock_idx as get_subblock_idx
    from pypto._src.frontend.region_markers import slice as slice
    from pypto._src.frontend.region_markers import transpose_view as transpose_view
else:
    __getattr__ = _lazy_names(
        __name__,
        {
            "aiv_shard": "pypto._src.frontend.region_markers",
            "gather_row": "pypto._src.frontend.region_markers",
            "get_block_num": "pypto._src.frontend.region_markers",
            "get_subblock_idx": "pypto._src.frontend.region_markers",
            "slice": "pypto._src.frontend.region_markers",
            "transpose_view": "pypto._src.frontend.region_markers",
        },
    )


__all__ = [
    "MaskPattern",
    "abs",
    "add",
    "addc",
    "adds",
    "addsc",
    "alloc",
    "and_",
    "ands",
    "arange",
    "batch_matmul",
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
    "create_tile",
    "div",
    "divs",
    "exp",
    "expands",
    "extract",
    "fillpad",
    "fillpad_expand",
    "fillpad_inplace",
    "fmod",
    "fmods",
    "full",
    "gather",
    "gather_along",
    "gather_mask",
    "gemv",
    "gemv_acc",
    "gemv_bias",
    "get_block_idx",
    "l0c_store",
    "load",
    "log",
    "lrelu",
    "matmul",
    "matmul_acc",
    "matmul_bias",
    "max",
    "maximum",
    "maximums",
    "maxs",
    "min",
    "minimum",
    "minimums",
    "mins",
    "move",
    "mrgsort",
    "mrgsort2",
    "mrgsort3",
    "mrgsort4",
    "mul",
    "muls",
    "neg",
    "not_",
    "or_",
    "ors",
    "part_add",
    "part_max",
    "part_min",
    "part_mul",
    "prelu",
    "read",
    "recip",
    "reinterpret_view",
    "relu",
    "rem",
    "rems",
    "reshape",
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
    "row_expand_to",
    "row_max",
    "row_min",
    "row_prod",
    "row_sum",
    "rsqrt",
    "scatter",
    "scatter_along",
    "scatter_mask",
    "scatter_update",
    "sel",
    "sel_or_number",
    "sels",
    "set_validshape",
    "shl",
    "shls",
    "shr",
    "shrs",
    "sin",
    "sort32",
    "sqrt",
    "store",
    "store_add",
    "sub",
    "subc",
    "subs",
    "subsc",
    "sum",
    "transpose",
    "tri",
    "vec_move",
    "view",
    "write",
    "xor",
    "xors",
]
