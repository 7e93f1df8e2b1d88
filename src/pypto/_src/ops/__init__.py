"""The vocabulary: every operator, one definition each. Importing it registers all.

Written by `make generate` from the definitions of the ops.
"""

from pypto._src.ops import elementwise, memory, system, tensor
from pypto._src.ops.define import lazy_family

lazy_family(
    "bitwise",
    [
        ("block.and", "and_", "and_"),
        ("block.or", "or_", "or_"),
        ("block.xor", "xor", "xor"),
        ("block.ands", "ands", "and_"),
        ("block.ors", "ors", "or_"),
        ("block.xors", "xors", "xor"),
        ("block.not", "not_", "not_"),
        ("block.shl", "shl", "shl"),
        ("block.shr", "shr", "shr"),
        ("block.shls", "shls", "shl"),
        ("block.shrs", "shrs", "shr"),
        ("block.rem", "rem", "rem"),
        ("block.rems", "rems", "rem"),
    ],
)
lazy_family(
    "compare_select",
    [
        ("block.cmp", "cmp", "cmp"),
        ("block.cmps", "cmps", "cmp"),
        ("block.sel", "sel", "sel"),
        ("block.prelu", "prelu", "prelu"),
        ("block.sels", "sels", "sels"),
    ],
    dispatched=False,
)
lazy_family(
    "matmul",
    [
        ("block.matmul", "matmul", "matmul"),
        ("block.matmul_acc", "matmul_acc", "matmul_acc"),
        ("block.matmul_bias", "matmul_bias", "matmul_bias"),
        ("block.gemv", "gemv", "gemv"),
        ("block.gemv_acc", "gemv_acc", "gemv_acc"),
        ("block.gemv_bias", "gemv_bias", "gemv_bias"),
        ("block.batch_matmul", "batch_matmul", "batch_matmul"),
    ],
    dispatched=False,
)
lazy_family(
    "new_tiles",
    [
        ("block.create_tile", "create_tile", "create_tile"),
        ("block.create_tile", "create", "create_tile"),
        ("block.alloc", "alloc", "alloc"),
        ("block.full", "full", "full"),
        ("block.vec_move", "vec_move", "vec_move"),
        ("block.fillpad", "fillpad", "fillpad"),
        ("block.fillpad", "fillpad_inplace", "fillpad"),
        ("block.view", "view", "view"),
    ],
    dispatched=False,
)
lazy_family(
    "reduce",
    [
        ("block.row_max", "row_max", "row_max"),
        ("block.row_min", "row_min", "row_min"),
        ("block.row_sum", "row_sum", "row_sum"),
        ("block.row_expand", "row_expand", "row_expand"),
        ("block.row_expand_add", "row_expand_add", "row_expand_add"),
        ("block.row_expand_sub", "row_expand_sub", "row_expand_sub"),
        ("block.row_expand_mul", "row_expand_mul", "row_expand_mul"),
        ("block.row_expand_div", "row_expand_div", "row_expand_div"),
        ("block.col_expand", "col_expand", "col_expand"),
        ("block.col_expand_mul", "col_expand_mul", "col_expand_mul"),
        ("block.col_expand_div", "col_expand_div", "col_expand_div"),
        ("block.col_expand_sub", "col_expand_sub", "col_expand_sub"),
    ],
    dispatched=False,
)
lazy_family(
    "reshaping",
    [
        ("block.reshape", "reshape", "reshape"),
        ("block.transpose", "transpose", "transpose"),
    ],
    dispatched=False,
)
lazy_family(
    "tensor_math",
    [
        ("tensor.add", "add", "add"),
        ("tensor.sub", "sub", "sub"),
        ("tensor.mul", "mul", "mul"),
        ("tensor.div", "div", "div"),
        ("tensor.maximum", "maximum", "maximum"),
        ("tensor.add_scalar", "add_scalar", "add"),
        ("tensor.sub_scalar", "sub_scalar", "sub"),
        ("tensor.mul_scalar", "mul_scalar", "mul"),
        ("tensor.div_scalar", "div_scalar", "div"),
        ("tensor.add_scalar", "adds", "add"),
        ("tensor.sub_scalar", "subs", "sub"),
        ("tensor.mul_scalar", "muls", "mul"),
        ("tensor.div_scalar", "divs", "div"),
        ("tensor.exp", "exp", "exp"),
        ("tensor.cast", "cast", "cast"),
        ("tensor.row_max", "row_max", "row_max"),
        ("tensor.row_sum", "row_sum", "row_sum"),
        ("tensor.reshape", "reshape", "reshape"),
        ("tensor.transpose", "transpose", "transpose"),
        ("tensor.matmul", "matmul", "matmul"),
        ("tensor.assemble", "assemble", "assemble"),
    ],
    dispatched=False,
)
lazy_family(
    "ternary",
    [
        ("block.addc", "addc", "addc"),
        ("block.addsc", "addsc", "addsc"),
        ("block.subc", "subc", "subc"),
        ("block.subsc", "subsc", "subsc"),
    ],
)
lazy_family(
    "lazy.atomic_stores",
    [
        ("block.store_add", "store_add", "store_add"),
    ],
)
lazy_family(
    "lazy.axis_reductions",
    [
        ("block.max", "max", "max"),
        ("block.min", "min", "min"),
        ("block.sum", "sum", "sum"),
    ],
)
lazy_family(
    "lazy.choosing",
    [
        ("block.sel_or_number", "sel_or_number", "sels"),
    ],
)
lazy_family(
    "lazy.columns",
    [
        ("block.col_max", "col_max", "col_max"),
        ("block.col_min", "col_min", "col_min"),
        ("block.col_sum", "col_sum", "col_sum"),
        ("block.col_prod", "col_prod", "col_prod"),
        ("block.row_prod", "row_prod", "row_prod"),
        ("block.row_argmax", "row_argmax", "row_argmax"),
        ("block.row_argmin", "row_argmin", "row_argmin"),
        ("block.col_argmax", "col_argmax", "col_argmax"),
        ("block.col_argmin", "col_argmin", "col_argmin"),
        ("block.row_expand_to", "row_expand_to", "row_expand"),
        ("block.row_expand_max", "row_expand_max", "row_expand_max"),
        ("block.row_expand_min", "row_expand_min", "row_expand_min"),
        ("block.row_expand_expdif", "row_expand_expdif", "row_expand_expdif"),
        ("block.col_expand_add", "col_expand_add", "col_expand_add"),
        ("block.col_expand_max", "col_expand_max", "col_expand_max"),
        ("block.col_expand_min", "col_expand_min", "col_expand_min"),
        ("block.col_expand_expdif", "col_expand_expdif", "col_expand_expdif"),
    ],
)
lazy_family(
    "lazy.elements",
    [
        ("block.read", "read", "read"),
        ("block.write", "write", "write"),
    ],
)
lazy_family(
    "lazy.indexing",
    [
        ("block.arange", "arange", "arange"),
        ("block.gather", "gather", "gather"),
        ("block.gather_along", "gather_along", "gather"),
        ("block.gather_mask", "gather_mask", "gather"),
    ],
)
lazy_family(
    "lazy.joining",
    [
        ("block.concat", "concat", "concat"),
    ],
)
lazy_family(
    "lazy.partial",
    [
        ("block.part_add", "part_add", "part_add"),
        ("block.part_mul", "part_mul", "part_mul"),
        ("block.part_max", "part_max", "part_max"),
        ("block.part_min", "part_min", "part_min"),
    ],
)
lazy_family(
    "lazy.periodic",
    [
        ("block.sin", "sin", "sin"),
        ("block.cos", "cos", "cos"),
    ],
)
lazy_family(
    "lazy.reinterpreting",
    [
        ("block.reinterpret_view", "reinterpret_view", "reinterpret_view"),
    ],
)
lazy_family(
    "lazy.remainders",
    [
        ("block.fmod", "fmod", "fmod"),
        ("block.fmods", "fmods", "fmod"),
    ],
)
lazy_family(
    "lazy.scattering",
    [
        ("block.scatter", "scatter", "scatter"),
        ("block.scatter_along", "scatter_along", "scatter"),
        ("block.scatter_mask", "scatter_mask", "scatter"),
        ("block.scatter_update", "scatter_update", "scatter_update"),
    ],
)
lazy_family(
    "lazy.signals",
    [
        ("system.notify", "notify", "notify"),
        ("system.wait", "wait", "wait"),
        ("system.fetch", "fetch", "fetch"),
        ("system.deliver", "deliver", "deliver"),
    ],
)
lazy_family(
    "lazy.sorting",
    [
        ("block.sort32", "sort32", "sort32"),
        ("block.mrgsort", "mrgsort", "mrgsort"),
        ("block.mrgsort2", "mrgsort2", "mrgsort"),
        ("block.mrgsort3", "mrgsort3", "mrgsort"),
        ("block.mrgsort4", "mrgsort4", "mrgsort"),
    ],
)
lazy_family(
    "lazy.tensor_elements",
    [
        ("tensor.write", "write", "write"),
    ],
)
lazy_family(
    "lazy.tensor_forms",
    [
        ("tensor.sqrt", "sqrt", "sqrt"),
        ("tensor.recip", "recip", "recip"),
        ("tensor.rsqrt", "rsqrt", "rsqrt"),
        ("tensor.log", "log", "log"),
        ("tensor.neg", "neg", "neg"),
        ("tensor.relu", "relu", "relu"),
        ("tensor.not", "not_", "not_"),
        ("tensor.abs", "abs", "abs"),
        ("tensor.minimum", "minimum", "minimum"),
        ("tensor.maximums", "maximums", "maximum"),
        ("tensor.minimums", "minimums", "minimum"),
        ("tensor.cmp", "cmp", "cmp"),
        ("tensor.cmps", "cmps", "cmp"),
        ("tensor.and", "and_", "and_"),
        ("tensor.ands", "ands", "and_"),
        ("tensor.or", "or_", "or_"),
        ("tensor.ors", "ors", "or_"),
        ("tensor.xor", "xor", "xor"),
        ("tensor.xors", "xors", "xor"),
        ("tensor.shl", "shl", "shl"),
        ("tensor.shls", "shls", "shl"),
        ("tensor.shr", "shr", "shr"),
        ("tensor.shrs", "shrs", "shr"),
        ("tensor.row_expand_add", "row_expand_add", "row_expand_add"),
        ("tensor.row_expand_sub", "row_expand_sub", "row_expand_sub"),
        ("tensor.row_expand_mul", "row_expand_mul", "row_expand_mul"),
        ("tensor.row_expand_div", "row_expand_div", "row_expand_div"),
        ("tensor.row_expand_max", "row_expand_max", "row_expand_max"),
        ("tensor.row_expand_min", "row_expand_min", "row_expand_min"),
        ("tensor.row_expand_expdif", "row_expand_expdif", "row_expand_expdif"),
        ("tensor.col_expand_add", "col_expand_add", "col_expand_add"),
        ("tensor.col_expand_sub", "col_expand_sub", "col_expand_sub"),
        ("tensor.col_expand_mul", "col_expand_mul", "col_expand_mul"),
        ("tensor.col_expand_div", "col_expand_div", "col_expand_div"),
        ("tensor.col_expand_max", "col_expand_max", "col_expand_max"),
        ("tensor.col_expand_min", "col_expand_min", "col_expand_min"),
        ("tensor.col_expand_expdif", "col_expand_expdif", "col_expand_expdif"),
        ("tensor.row_min", "row_min", "row_min"),
        ("tensor.row_prod", "row_prod", "row_prod"),
        ("tensor.col_max", "col_max", "col_max"),
        ("tensor.col_min", "col_min", "col_min"),
        ("tensor.col_sum", "col_sum", "col_sum"),
        ("tensor.col_prod", "col_prod", "col_prod"),
    ],
)
lazy_family(
    "lazy.tensor_lines",
    [
        ("tensor.part_add", "part_add", "part_add"),
        ("tensor.part_mul", "part_mul", "part_mul"),
        ("tensor.part_max", "part_max", "part_max"),
        ("tensor.part_min", "part_min", "part_min"),
        ("tensor.fmod", "fmod", "fmod"),
        ("tensor.fmods", "fmods", "fmod"),
        ("tensor.sin", "sin", "sin"),
        ("tensor.cos", "cos", "cos"),
        ("tensor.row_expand", "row_expand", "row_expand"),
        ("tensor.col_expand", "col_expand", "col_expand"),
        ("tensor.expands", "expands", "expands"),
        ("tensor.full", "full", "full"),
        ("tensor.arange", "arange", "arange"),
        ("tensor.concat", "concat", "concat"),
        ("tensor.fillpad_expand", "fillpad_expand", "fillpad_expand"),
        ("tensor.row_argmax", "row_argmax", "row_argmax"),
        ("tensor.row_argmin", "row_argmin", "row_argmin"),
        ("tensor.col_argmax", "col_argmax", "col_argmax"),
        ("tensor.col_argmin", "col_argmin", "col_argmin"),
        ("tensor.reinterpret_view", "reinterpret_view", "reinterpret_view"),
        ("tensor.gather", "gather", "gather"),
        ("tensor.gather_mask", "gather_mask", "gather"),
        ("tensor.scatter", "scatter", "scatter"),
        ("tensor.scatter_mask", "scatter_mask", "scatter"),
        ("tensor.scatter_update", "scatter_update", "scatter_update"),
        ("tensor.sort32", "sort32", "sort32"),
        ("tensor.mrgsort", "mrgsort", "mrgsort"),
        ("tensor.mrgsort2", "mrgsort2", "mrgsort"),
        ("tensor.mrgsort3", "mrgsort3", "mrgsort"),
        ("tensor.mrgsort4", "mrgsort4", "mrgsort"),
    ],
)
lazy_family(
    "lazy.testing",
    [
        ("test.op", "op", "op"),
    ],
)
lazy_family(
    "lazy.triangles",
    [
        ("block.tri", "tri", "tri"),
    ],
)
lazy_family(
    "lazy.valid_shapes",
    [
        ("block.set_validshape", "set_validshape", "set_validshape"),
        ("block.fillpad_expand", "fillpad_expand", "fillpad_expand"),
    ],
)

__all__ = [
    "elementwise",
    "memory",
    "system",
    "tensor",
]
