"""The IR definition document: its Python examples run, and mean what its text says."""

from __future__ import annotations

from pypto import ir
from pypto._src.ir.types import same_type
from pypto.ir import DataType

dtype = DataType.INT64
span = ir.Span.unknown()


def int64(name: str) -> ir.Var:
    return ir.Var(name, ir.ScalarType(DataType.INT64), ir.Span.unknown())


def test_source_locations() -> None:
    """A span has a file and a start; the unknown one points nowhere."""
    place = ir.Span("example.py", 10, 5, 10, 20)
    assert place.filename == "example.py"
    assert place.begin_line == 10
    assert not ir.Span.unknown().is_valid()


def test_field_descriptors() -> None:
    """AssignStmt defines its variable, and its value is a normal field."""
    kinds = {field.name: field.kind.value for field in ir.AssignStmt.fields()}
    assert kinds == {"var": "defining", "value": "plain", "span": "ignored"}


def test_var() -> None:
    """A variable has a name and a type."""
    x = ir.Var("x", ir.ScalarType(DataType.INT64), ir.Span.unknown())
    assert x.name == "x"
    assert x.type == ir.ScalarType(DataType.INT64)


def sum_iter_arg() -> ir.IterArg:
    init_value = ir.ConstInt(0, DataType.INT64, ir.Span.unknown())
    return ir.IterArg("sum", ir.ScalarType(DataType.INT64), init_value, ir.Span.unknown())


def test_iter_arg() -> None:
    """An IterArg is a Var with an initial value."""
    sum_iter = sum_iter_arg()
    assert isinstance(sum_iter, ir.Var)
    assert isinstance(sum_iter.initValue, ir.ConstInt)
    assert sum_iter.initValue.value == 0


def test_const_int() -> None:
    """A constant has a value and an element type."""
    c = ir.ConstInt(42, DataType.INT64, ir.Span.unknown())
    assert (c.value, c.dtype) == (42, DataType.INT64)


def test_binary_and_unary_expressions() -> None:
    """(x + 5) * 2 and -x are built from classes; all the listed operations exist."""
    x = int64("x")
    five = ir.ConstInt(5, DataType.INT64, ir.Span.unknown())
    two = ir.ConstInt(2, DataType.INT64, ir.Span.unknown())
    add_expr = ir.Add(x, five, DataType.INT64, ir.Span.unknown())
    mul_expr = ir.Mul(add_expr, two, DataType.INT64, ir.Span.unknown())
    assert mul_expr.left is add_expr
    assert str(mul_expr) == "(x + 5) * 2"
    neg_x = ir.Neg(x, DataType.INT64, ir.Span.unknown())
    assert str(neg_x) == "-x"
    listed = (
        "Add Sub Mul FloorDiv FloorMod FloatDiv Min Max Pow Eq Ne Lt Le Gt Ge And Or Xor BitAnd "
        "BitOr BitXor BitShiftLeft BitShiftRight"
    )
    assert all(issubclass(getattr(ir, name), ir.BinaryExpr) for name in listed.split())
    assert all(issubclass(getattr(ir, n), ir.UnaryExpr) for n in ["Abs", "Neg", "Not", "BitNot"])


def test_op_and_call() -> None:
    """Ops and global variables are called in the same way."""
    x, y = int64("x"), int64("y")
    op = ir.Op("my_function")
    call = ir.Call(op, [x, y], ir.Span.unknown())
    assert call.op is op
    assert call.args == (x, y)
    gvar = ir.GlobalVar("my_func")
    assert isinstance(gvar, ir.Op)
    assert str(ir.Call(gvar, [x, y], ir.Span.unknown())) == "my_func(x, y)"


def test_function() -> None:
    """A function has parameters, result types and a body."""
    params = [int64("x"), int64("y")]
    return_types = [ir.ScalarType(DataType.INT64)]
    result = int64("result")
    add_expr = ir.Add(params[0], params[1], DataType.INT64, ir.Span.unknown())
    body = ir.AssignStmt(result, add_expr, ir.Span.unknown())
    func = ir.Function("add", params, return_types, body, ir.Span.unknown())
    assert func.body is body
    assert str(func) == (
        "@pl.function\n"
        "def add(x: pl.Scalar[pl.INT64], y: pl.Scalar[pl.INT64]) -> pl.Scalar[pl.INT64]:\n"
        "    result: pl.Scalar[pl.INT64] = x + y"
    )


def test_program() -> None:
    """Functions are sorted by name and found by name, with or without a program name."""
    body = ir.AssignStmt(int64("y"), int64("x"), span)
    func1 = ir.Function("multiply", [], [], body, ir.Span.unknown())
    func2 = ir.Function("add", [], [], body, ir.Span.unknown())
    program = ir.Program([func1, func2], "my_program", ir.Span.unknown())
    assert [f.name for f in program.functions.values()] == ["add", "multiply"]
    assert program.get_function("add") is func2
    add_gvar = program.get_global_var("add")
    assert add_gvar is not None
    assert add_gvar.name == "add"
    assert program.functions[add_gvar] is func2
    assert ir.Program([func1, func2], "", ir.Span.unknown()).name == ""


def test_call_inside_a_program() -> None:
    """A function calls another one in its program through the global variable."""
    x, y = int64("x"), int64("y")
    helper_body = ir.AssignStmt(y, x, ir.Span.unknown())
    types = [ir.ScalarType(DataType.INT64)]
    helper = ir.Function("helper", [x], types, helper_body, ir.Span.unknown())
    program = ir.Program([helper], "my_program", ir.Span.unknown())
    helper_gvar = program.get_global_var("helper")
    assert helper_gvar is not None
    call = ir.Call(helper_gvar, [x], ir.Span.unknown())
    main_body = ir.AssignStmt(y, call, ir.Span.unknown())
    main = ir.Function("main", [x], types, main_body, ir.Span.unknown())
    program = ir.Program([helper, main], "my_program", ir.Span.unknown())
    assert "y: pl.Scalar[pl.INT64] = self.helper(x)" in str(program).splitlines()[-1]


def test_if_with_lists_of_statements() -> None:
    """Bodies may be lists; the branches assign the return variable."""
    x, y, zero = int64("x"), int64("y"), ir.ConstInt(0, dtype, span)
    then_stmt = ir.AssignStmt(y, ir.ConstInt(1, dtype, span), span)
    else_stmt = ir.AssignStmt(y, ir.ConstInt(-1, dtype, span), span)
    condition = ir.Gt(x, zero, DataType.INT64, ir.Span.unknown())
    if_stmt = ir.IfStmt(condition, [then_stmt], [else_stmt], [y], ir.Span.unknown())
    assert if_stmt.then_body is then_stmt
    assert if_stmt.else_body is else_stmt
    assert if_stmt.return_vars == (y,)
    assert str(ir.AssignStmt(x, y, span)) == "x: pl.Scalar[pl.INT64] = y"


def test_simple_for_loop() -> None:
    """A loop without carried values."""
    i, x = int64("i"), int64("x")
    start = ir.ConstInt(0, DataType.INT64, ir.Span.unknown())
    stop = ir.ConstInt(10, DataType.INT64, ir.Span.unknown())
    step = ir.ConstInt(1, DataType.INT64, ir.Span.unknown())
    body = ir.AssignStmt(x, ir.Add(x, i, dtype, span), ir.Span.unknown())
    for_stmt = ir.ForStmt(i, start, stop, step, [], body, [], ir.Span.unknown())
    assert str(for_stmt) == ("for i in pl.range(0, 10, 1):\n    x: pl.Scalar[pl.INT64] = x + i")


def test_for_loop_with_iteration_arguments() -> None:
    """What the body yields is carried on; the return variable has the last value."""
    i, sum_iter = int64("i"), sum_iter_arg()
    start = ir.ConstInt(0, DataType.INT64, ir.Span.unknown())
    stop = ir.ConstInt(10, DataType.INT64, ir.Span.unknown())
    step = ir.ConstInt(1, DataType.INT64, ir.Span.unknown())
    add_expr = ir.Add(sum_iter, i, DataType.INT64, ir.Span.unknown())
    yield_stmt = ir.YieldStmt([add_expr], ir.Span.unknown())
    sum_final = int64("sum_final")
    for_stmt = ir.ForStmt(
        i, start, stop, step, [sum_iter], yield_stmt, [sum_final], ir.Span.unknown()
    )
    assert len(for_stmt.iter_args) == len(for_stmt.return_vars) == len(yield_stmt.value)
    assert str(for_stmt) == (
        "for i, (sum,) in pl.range(0, 10, 1, init_values=(0,)):\n"
        "    sum_final: pl.Scalar[pl.INT64] = pl.yield_(sum + i)"
    )
    whole = ir.Program([ir.Function("f", [], [], for_stmt)])
    assert ir.IRVerifier.create_default().verify(whole) == []


def test_sequences() -> None:
    """Yields hold several values; sequences hold statements, OpStmts assignments."""
    x, y = int64("x"), int64("y")
    assert ir.YieldStmt([x, y], ir.Span.unknown()).value == (x, y)
    stmts = [ir.AssignStmt(x, y, span) for _ in range(3)]
    assert ir.SeqStmts(stmts, ir.Span.unknown()).stmts == tuple(stmts)
    assert ir.OpStmts(stmts[:2], ir.Span.unknown()).stmts == tuple(stmts[:2])


def test_types() -> None:
    """Scalars, tensors in the document's order of arguments, unknown, and tuples."""
    assert ir.ScalarType(DataType.INT64).dtype is DataType.INT64
    shape = [
        ir.ConstInt(10, DataType.INT64, ir.Span.unknown()),
        ir.ConstInt(20, DataType.INT64, ir.Span.unknown()),
    ]
    tensor_type = ir.TensorType(DataType.FLOAT32, shape)
    assert same_type(tensor_type, ir.TensorType([10, 20], DataType.FP32))
    assert str(tensor_type) == "pl.Tensor[[10, 20], pl.FP32]"
    assert ir.UnknownType() == ir.UnknownType.get()
    assert ir.TupleType([]).types == ()
    scalar_tuple = ir.TupleType([ir.ScalarType(DataType.INT64), ir.ScalarType(DataType.FP32)])
    mixed_tuple = ir.TupleType([ir.TensorType(DataType.FP32, shape), ir.ScalarType(DataType.INT32)])
    nested_tuple = ir.TupleType([ir.TupleType([ir.ScalarType(DataType.INT64)]), mixed_tuple])
    assert str(nested_tuple) == (
        "pl.Tuple[[pl.Tuple[[pl.Scalar[pl.INT64]]], "
        "pl.Tuple[[pl.Tensor[[10, 20], pl.FP32], pl.Scalar[pl.INT32]]]]]"
    )
    assert scalar_tuple != mixed_tuple


def test_tuple_element_access() -> None:
    """Elements have the types of their positions."""
    tuple_type = ir.TupleType([ir.ScalarType(DataType.INT64), ir.ScalarType(DataType.FP32)])
    tuple_var = ir.Var("my_tuple", tuple_type, ir.Span.unknown())
    first_elem = ir.TupleGetItemExpr(tuple_var, 0, ir.Span.unknown())
    second_elem = ir.TupleGetItemExpr(tuple_var, 1, ir.Span.unknown())
    assert first_elem.type == ir.ScalarType(DataType.INT64)
    assert second_elem.type == ir.ScalarType(DataType.FP32)


def test_example_1_complex_expression() -> None:
    """((x + 1) * (y - 2)) / (x + y)."""
    x, y = ir.Var("x", ir.ScalarType(dtype), span), ir.Var("y", ir.ScalarType(dtype), span)
    one, two = ir.ConstInt(1, dtype, span), ir.ConstInt(2, dtype, span)
    x_plus_1 = ir.Add(x, one, dtype, span)
    y_minus_2 = ir.Sub(y, two, dtype, span)
    numerator = ir.Mul(x_plus_1, y_minus_2, dtype, span)
    denominator = ir.Add(x, y, dtype, span)
    result = ir.FloatDiv(numerator, denominator, dtype, span)
    assert str(result) == "(x + 1) * (y - 2) / (x + y)"


def test_example_2_control_flow() -> None:
    """The absolute value, assigned in both branches."""
    x = ir.Var("x", ir.ScalarType(dtype), span)
    result = ir.Var("result", ir.ScalarType(dtype), span)
    zero = ir.ConstInt(0, dtype, span)
    condition = ir.Ge(x, zero, dtype, span)
    then_assign = ir.AssignStmt(result, x, span)
    else_assign = ir.AssignStmt(result, ir.Neg(x, dtype, span), span)
    abs_stmt = ir.IfStmt(condition, then_assign, else_assign, [result], span)
    assert str(abs_stmt) == (
        "if x >= 0:\n"
        "    result: pl.Scalar[pl.INT64] = x\n"
        "    # no yield for: result\n"
        "else:\n"
        "    result: pl.Scalar[pl.INT64] = -x\n"
        "    # no yield for: result"
    )


def accumulation() -> tuple[ir.Var, ir.SeqStmts]:
    n = ir.Var("n", ir.ScalarType(dtype), span)
    i = ir.Var("i", ir.ScalarType(dtype), span)
    sum_var = ir.Var("sum", ir.ScalarType(dtype), span)
    zero, one = ir.ConstInt(0, dtype, span), ir.ConstInt(1, dtype, span)
    init = ir.AssignStmt(sum_var, zero, span)
    add_expr = ir.Add(sum_var, i, dtype, span)
    update = ir.AssignStmt(sum_var, add_expr, span)
    loop = ir.ForStmt(i, zero, n, one, [update], [sum_var], span)
    return n, ir.SeqStmts([init, loop], span)


def test_example_3_loop_with_accumulation() -> None:
    """A loop may be built without iter_args, with a list of statements as its body."""
    _, program = accumulation()
    loop = program.stmts[1]
    assert isinstance(loop, ir.ForStmt)
    assert loop.iter_args == ()
    assert [v.name for v in loop.return_vars] == ["sum"]
    assert str(program) == (
        "sum: pl.Scalar[pl.INT64] = 0\n"
        "for i in pl.range(0, n, 1):\n"
        "    sum: pl.Scalar[pl.INT64] = sum + i\n"
        "    # no yield for: sum"
    )


def test_example_4_function_definition() -> None:
    """The loop of example 3 as the body of a function."""
    n, body = accumulation()
    sum_func = ir.Function("sum_range", [n], [ir.ScalarType(DataType.INT64)], body, span)
    assert str(sum_func).splitlines()[1] == (
        "def sum_range(n: pl.Scalar[pl.INT64]) -> pl.Scalar[pl.INT64]:"
    )
    assert sum_func.body is body


def test_example_5_complete_program() -> None:
    """Two functions that share their variables' objects print as a program."""
    x = ir.Var("x", ir.ScalarType(dtype), span)
    y = ir.Var("y", ir.ScalarType(dtype), span)
    result = ir.Var("result", ir.ScalarType(dtype), span)
    add_body = ir.AssignStmt(result, ir.Add(x, y, dtype, span), span)
    add_func = ir.Function("add", [x, y], [ir.ScalarType(dtype)], add_body, span)
    mul_body = ir.AssignStmt(result, ir.Mul(x, y, dtype, span), span)
    mul_func = ir.Function("multiply", [x, y], [ir.ScalarType(dtype)], mul_body, span)
    program = ir.Program([add_func, mul_func], "math_operations", span)
    signature = "(self, x: pl.Scalar[pl.INT64], y: pl.Scalar[pl.INT64]) -> pl.Scalar[pl.INT64]:"
    assert str(program) == (
        "# pypto.program: math_operations\n"
        "import pypto.language as pl\n"
        "\n"
        "@pl.program\n"
        "class math_operations:\n"
        "    @pl.function\n"
        f"    def add{signature}\n"
        "        result: pl.Scalar[pl.INT64] = x + y\n"
        "    @pl.function\n"
        f"    def multiply{signature}\n"
        "        result: pl.Scalar[pl.INT64] = x * y"
    )


def test_design_principles() -> None:
    """Nodes may have several parents; they compare by identity, or structurally on request."""
    x = int64("x")
    shared = ir.Add(x, ir.ConstInt(1, dtype, span), dtype, span)
    double = ir.Mul(shared, shared, dtype, span)
    assert double.left is double.right
    copy = ir.Add(x, ir.ConstInt(1, dtype, span), dtype, span)
    assert copy is not shared
    assert not copy.same_as(shared)
    assert ir.structural_equal(copy, shared)
