"""The short names of the ops: `pl.add` is `add` here.

Written by `make generate` from the definitions of the ops.
"""

from pypto._src.ops.elementwise import adds, divs, lrelu, maxs, mins, muls, subs
from pypto._src.ops.elementwise import maxs as maximums
from pypto._src.ops.elementwise import mins as minimums
from pypto._src.ops.memory import extract, l0c_store, load, move, store
from pypto._src.ops.system import get_block_idx
from pypto._src.ops.tensor import create as create_tensor
from pypto._src.ops.tensor import dim, reshape_view
from pypto._src.ops.unified import Unified

abs = Unified("abs")
add = Unified("add")
addc = Unified("addc")
addsc = Unified("addsc")
and_ = Unified("and_")
ands = Unified("ands")
arange = Unified("arange")
cast = Unified("cast")
cmp = Unified("cmp")
col_argmax = Unified("col_argmax")
col_argmin = Unified("col_argmin")
col_expand = Unified("col_expand")
col_expand_add = Unified("col_expand_add")
col_expand_div = Unified("col_expand_div")
col_expand_expdif = Unified("col_expand_expdif")
col_expand_max = Unified("col_expand_max")
col_expand_min = Unified("col_expand_min")
col_expand_mul = Unified("col_expand_mul")
col_expand_sub = Unified("col_expand_sub")
col_max = Unified("col_max")
col_min = Unified("col_min")
col_prod = Unified("col_prod")
col_sum = Unified("col_sum")
concat = Unified("concat")
cos = Unified("cos")
div = Unified("div")
exp = Unified("exp")
expands = Unified("expands")
fillpad_expand = Unified("fillpad_expand")
fmod = Unified("fmod")
fmods = Unified("fmods")
full = Unified("full")
gather = Unified("gather")
gather_along = Unified("gather_along")
gather_mask = Unified("gather_mask")
log = Unified("log")
matmul = Unified("matmul")
max = Unified("max")
maximum = Unified("maximum")
min = Unified("min")
minimum = Unified("minimum")
mrgsort = Unified("mrgsort")
mrgsort2 = Unified("mrgsort2")
mrgsort3 = Unified("mrgsort3")
mrgsort4 = Unified("mrgsort4")
mul = Unified("mul")
neg = Unified("neg")
not_ = Unified("not_")
or_ = Unified("or_")
ors = Unified("ors")
part_add = Unified("part_add")
part_max = Unified("part_max")
part_min = Unified("part_min")
part_mul = Unified("part_mul")
read = Unified("read")
recip = Unified("recip")
reinterpret_view = Unified("reinterpret_view")
relu = Unified("relu")
rem = Unified("rem")
rems = Unified("rems")
reshape = Unified("reshape")
row_argmax = Unified("row_argmax")
row_argmin = Unified("row_argmin")
row_expand = Unified("row_expand")
row_expand_add = Unified("row_expand_add")
row_expand_div = Unified("row_expand_div")
row_expand_expdif = Unified("row_expand_expdif")
row_expand_max = Unified("row_expand_max")
row_expand_min = Unified("row_expand_min")
row_expand_mul = Unified("row_expand_mul")
row_expand_sub = Unified("row_expand_sub")
row_expand_to = Unified("row_expand_to")
row_max = Unified("row_max")
row_min = Unified("row_min")
row_prod = Unified("row_prod")
row_sum = Unified("row_sum")
rsqrt = Unified("rsqrt")
scatter = Unified("scatter")
scatter_along = Unified("scatter_along")
scatter_mask = Unified("scatter_mask")
scatter_update = Unified("scatter_update")
sel_or_number = Unified("sel_or_number")
sels = Unified("sels")
set_validshape = Unified("set_validshape")
shl = Unified("shl")
shls = Unified("shls")
shr = Unified("shr")
shrs = Unified("shrs")
sin = Unified("sin")
sort32 = Unified("sort32")
sqrt = Unified("sqrt")
store_add = Unified("store_add")
sub = Unified("sub")
subc = Unified("subc")
subsc = Unified("subsc")
sum = Unified("sum")
transpose = Unified("transpose")
tri = Unified("tri")
view = Unified("view")
write = Unified("write")
xor = Unified("xor")
xors = Unified("xors")
block_addc = Unified("addc", "block")
block_addsc = Unified("addsc", "block")
block_and_ = Unified("and_", "block")
block_ands = Unified("ands", "block")
block_arange = Unified("arange", "block")
block_col_argmax = Unified("col_argmax", "block")
block_col_argmin = Unified("col_argmin", "block")
block_col_expand_add = Unified("col_expand_add", "block")
block_col_expand_expdif = Unified("col_expand_expdif", "block")
block_col_expand_max = Unified("col_expand_max", "block")
block_col_expand_min = Unified("col_expand_min", "block")
block_col_max = Unified("col_max", "block")
block_col_min = Unified("col_min", "block")
block_col_prod = Unified("col_prod", "block")
block_col_sum = Unified("col_sum", "block")
block_concat = Unified("concat", "block")
block_cos = Unified("cos", "block")
block_fillpad_expand = Unified("fillpad_expand", "block")
block_fmod = Unified("fmod", "block")
block_fmods = Unified("fmods", "block")
block_gather = Unified("gather", "block")
block_gather_along = Unified("gather_along", "block")
block_gather_mask = Unified("gather_mask", "block")
block_max = Unified("max", "block")
block_min = Unified("min", "block")
block_mrgsort = Unified("mrgsort", "block")
block_mrgsort2 = Unified("mrgsort2", "block")
block_mrgsort3 = Unified("mrgsort3", "block")
block_mrgsort4 = Unified("mrgsort4", "block")
block_not_ = Unified("not_", "block")
block_or_ = Unified("or_", "block")
block_ors = Unified("ors", "block")
block_part_add = Unified("part_add", "block")
block_part_max = Unified("part_max", "block")
block_part_min = Unified("part_min", "block")
block_part_mul = Unified("part_mul", "block")
block_read = Unified("read", "block")
block_reinterpret_view = Unified("reinterpret_view", "block")
block_rem = Unified("rem", "block")
block_rems = Unified("rems", "block")
block_row_argmax = Unified("row_argmax", "block")
block_row_argmin = Unified("row_argmin", "block")
block_row_expand = Unified("row_expand", "block")
block_row_expand_expdif = Unified("row_expand_expdif", "block")
block_row_expand_max = Unified("row_expand_max", "block")
block_row_expand_min = Unified("row_expand_min", "block")
block_row_expand_to = Unified("row_expand_to", "block")
block_row_prod = Unified("row_prod", "block")
block_scatter = Unified("scatter", "block")
block_scatter_along = Unified("scatter_along", "block")
block_scatter_mask = Unified("scatter_mask", "block")
block_scatter_update = Unified("scatter_update", "block")
block_sel_or_number = Unified("sel_or_number", "block")
block_sels = Unified("sels", "block")
block_set_validshape = Unified("set_validshape", "block")
block_shl = Unified("shl", "block")
block_shls = Unified("shls", "block")
block_shr = Unified("shr", "block")
block_shrs = Unified("shrs", "block")
block_sin = Unified("sin", "block")
block_sort32 = Unified("sort32", "block")
block_store_add = Unified("store_add", "block")
block_subc = Unified("subc", "block")
block_subsc = Unified("subsc", "block")
block_sum = Unified("sum", "block")
block_tri = Unified("tri", "block")
block_write = Unified("write", "block")
block_xor = Unified("xor", "block")
block_xors = Unified("xors", "block")
system_deliver = Unified("deliver", "system")
system_fetch = Unified("fetch", "system")
system_notify = Unified("notify", "system")
system_wait = Unified("wait", "system")
tensor_abs = Unified("abs", "tensor")
tensor_add = Unified("add", "tensor")
tensor_and_ = Unified("and_", "tensor")
tensor_ands = Unified("ands", "tensor")
tensor_arange = Unified("arange", "tensor")
tensor_cmp = Unified("cmp", "tensor")
tensor_cmps = Unified("cmps", "tensor")
tensor_col_argmax = Unified("col_argmax", "tensor")
tensor_col_argmin = Unified("col_argmin", "tensor")
tensor_col_expand = Unified("col_expand", "tensor")
tensor_col_expand_add = Unified("col_expand_add", "tensor")
tensor_col_expand_div = Unified("col_expand_div", "tensor")
tensor_col_expand_expdif = Unified("col_expand_expdif", "tensor")
tensor_col_expand_max = Unified("col_expand_max", "tensor")
tensor_col_expand_min = Unified("col_expand_min", "tensor")
tensor_col_expand_mul = Unified("col_expand_mul", "tensor")
tensor_col_expand_sub = Unified("col_expand_sub", "tensor")
tensor_col_max = Unified("col_max", "tensor")
tensor_col_min = Unified("col_min", "tensor")
tensor_col_prod = Unified("col_prod", "tensor")
tensor_col_sum = Unified("col_sum", "tensor")
tensor_concat = Unified("concat", "tensor")
tensor_cos = Unified("cos", "tensor")
tensor_div = Unified("div", "tensor")
tensor_expands = Unified("expands", "tensor")
tensor_fillpad_expand = Unified("fillpad_expand", "tensor")
tensor_fmod = Unified("fmod", "tensor")
tensor_fmods = Unified("fmods", "tensor")
tensor_full = Unified("full", "tensor")
tensor_gather = Unified("gather", "tensor")
tensor_gather_mask = Unified("gather_mask", "tensor")
tensor_log = Unified("log", "tensor")
tensor_maximum = Unified("maximum", "tensor")
tensor_maximums = Unified("maximums", "tensor")
tensor_minimum = Unified("minimum", "tensor")
tensor_minimums = Unified("minimums", "tensor")
tensor_mrgsort = Unified("mrgsort", "tensor")
tensor_mrgsort2 = Unified("mrgsort2", "tensor")
tensor_mrgsort3 = Unified("mrgsort3", "tensor")
tensor_mrgsort4 = Unified("mrgsort4", "tensor")
tensor_mul = Unified("mul", "tensor")
tensor_neg = Unified("neg", "tensor")
tensor_not_ = Unified("not_", "tensor")
tensor_or_ = Unified("or_", "tensor")
tensor_ors = Unified("ors", "tensor")
tensor_part_add = Unified("part_add", "tensor")
tensor_part_max = Unified("part_max", "tensor")
tensor_part_min = Unified("part_min", "tensor")
tensor_part_mul = Unified("part_mul", "tensor")
tensor_recip = Unified("recip", "tensor")
tensor_reinterpret_view = Unified("reinterpret_view", "tensor")
tensor_relu = Unified("relu", "tensor")
tensor_row_argmax = Unified("row_argmax", "tensor")
tensor_row_argmin = Unified("row_argmin", "tensor")
tensor_row_expand = Unified("row_expand", "tensor")
tensor_row_expand_add = Unified("row_expand_add", "tensor")
tensor_row_expand_div = Unified("row_expand_div", "tensor")
tensor_row_expand_expdif = Unified("row_expand_expdif", "tensor")
tensor_row_expand_max = Unified("row_expand_max", "tensor")
tensor_row_expand_min = Unified("row_expand_min", "tensor")
tensor_row_expand_mul = Unified("row_expand_mul", "tensor")
tensor_row_expand_sub = Unified("row_expand_sub", "tensor")
tensor_row_min = Unified("row_min", "tensor")
tensor_row_prod = Unified("row_prod", "tensor")
tensor_rsqrt = Unified("rsqrt", "tensor")
tensor_scatter = Unified("scatter", "tensor")
tensor_scatter_mask = Unified("scatter_mask", "tensor")
tensor_scatter_update = Unified("scatter_update", "tensor")
tensor_shl = Unified("shl", "tensor")
tensor_shls = Unified("shls", "tensor")
tensor_shr = Unified("shr", "tensor")
tensor_shrs = Unified("shrs", "tensor")
tensor_sin = Unified("sin", "tensor")
tensor_sort32 = Unified("sort32", "tensor")
tensor_sqrt = Unified("sqrt", "tensor")
tensor_sub = Unified("sub", "tensor")
tensor_write = Unified("write", "tensor")
tensor_xor = Unified("xor", "tensor")
tensor_xors = Unified("xors", "tensor")

LATE = {
    "alloc": "pypto._src.ops.new_tiles",
    "create": "pypto._src.ops.new_tiles:create_tile",
    "create_tile": "pypto._src.ops.new_tiles",
    "fillpad": "pypto._src.ops.new_tiles",
    "fillpad_inplace": "pypto._src.ops.new_tiles:fillpad",
    "vec_move": "pypto._src.ops.new_tiles",
    "assemble": "pypto._src.ops.tensor_math",
    "batch_matmul": "pypto._src.ops.matmul",
    "gemv": "pypto._src.ops.matmul",
    "gemv_acc": "pypto._src.ops.matmul",
    "gemv_bias": "pypto._src.ops.matmul",
    "matmul_acc": "pypto._src.ops.matmul",
    "matmul_bias": "pypto._src.ops.matmul",
    "cmps": "pypto._src.ops.compare_select",
    "prelu": "pypto._src.ops.compare_select",
    "sel": "pypto._src.ops.compare_select",
}
"""The names that are imported when they are read."""

__all__ = [
    "abs",
    "add",
    "addc",
    "adds",
    "addsc",
    "and_",
    "ands",
    "arange",
    "cast",
    "cmp",
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
    "create_tensor",
    "dim",
    "div",
    "divs",
    "exp",
    "expands",
    "extract",
    "fillpad_expand",
    "fmod",
    "fmods",
    "full",
    "gather",
    "gather_along",
    "gather_mask",
    "get_block_idx",
    "l0c_store",
    "load",
    "log",
    "lrelu",
    "matmul",
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
    "read",
    "recip",
    "reinterpret_view",
    "relu",
    "rem",
    "rems",
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
    "view",
    "write",
    "xor",
    "xors",
]
