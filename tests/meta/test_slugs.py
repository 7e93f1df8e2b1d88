"""Every error has a test that shows it: a file in tests/errors, or a test named here.

Errors are identified by their slugs. Those of the compiler are collected from its source, from what
is passed as ``slug``; those of classes, from the classes that are raised without one; those of the
task runtime from its C++. Faults of the PTO dialect have their own rules, and are not among them
(tests/dialect).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pypto" / "_src"
TESTS = ROOT / "tests"

ELSEWHERE = {
    "argument": ("interp/test_evaluate.py::test_dimension_and_scalar_agree",
                 ", a dimension of a tensor is"),
    "argument-dlpack": ("run/test_runtime.py::test_arrays_elsewhere_are_refused",
                        "argument-dlpack"),
    "argument-memory": ("attack/test_arrays.py::check", "argument-memory"),
    "assembler": ("emit/test_build_output.py::test_an_assembler_that_dies",
                  "assembler"),
    "cache": ("attack/test_cache.py::test_no_space_anywhere", "and its substitute in"),
    "compiler": ("run/test_cache.py::test_compile_error", "compiler"),
    "conversion": ("api/test_11_ops.py::test_failed_conversion", "is to give"),
    "cost-case": ("cost/test_command.py::test_what_is_no_case_is_refused", "has no column"),
    "cost-table": ("cost/test_model.py::test_wrong_tables_are_refused", "is not valid TOML"),
    "cost-target": ("cost/test_model.py::test_other_targets_have_no_table",
                    "there are no costs for"),
    "emit": ("emit/test_cpp.py::test_what_is_no_scalar_is_refused", " as a scalar"),
    "emit-address": ("emit/test_pto.py::test_level_3_needs_addresses",
                     "run passes.allocate_memory_addr() first"),
    "emit-call": ("emit/test_pto.py::test_what_cannot_be_written_is_refused",
                  "a kernel cannot call"),
    "emit-carried-tile": ("emit/test_pto.py::test_what_cannot_be_written_is_refused",
                          "is handed on from one buffer to another"),
    "emit-helper": ("emit/test_pto_codegen.py::test_helpers_need_a_kernel",
                    "known only while a kernel is being written"),
    "emit-name": ("emit/test_cpp_document.py::test_a_variable_is_registered_once",
                  " is registered already as "),
    "emit-shape": ("emit/test_cpp_dynamic.py::test_a_dimension_without_name_is_refused",
                   " has a dimension without a name"),
    "emit-statement": ("errors/test_rare.py::test_rare", "emit-statement"),
    "emit-tile-shape": ("errors/test_rare.py::test_rare", "emit-tile-shape"),
    "emit-tile-space": ("errors/test_rare.py::test_rare", "emit-tile-space"),
    "emit-undefined": ("emit/test_pto.py::test_what_cannot_be_written_is_refused",
                       "has no value here"),
    "environment": ("run/test_cli.py::test_bad_environment_is_reported", "environment"),
    "error": ("errors/test_rare.py::test_rare", "has no statement form"),
    "evaluation": ("errors/test_rare.py::test_rare", "has no meaning on numbers"),
    "examples": ("run/test_cli.py::test_demo_of_an_unknown_case", "there is no example"),
    "deadlock": ("run/test_ranks.py::test_a_deadlock_is_named", "deadlock"),
    "device": ("run/test_ranks.py::test_a_device_that_is_not_there", "; the run has "),
    "file": ("run/test_cli.py::test_missing_file", "file"),
    "form-module": ("statement/test_rules.py::test_broken", "a second program.entry"),
    "form-names": ("statement/test_rules.py::test_broken", "is defined a second time"),
    "form-ops": ("statement/test_rules.py::test_broken", "form-ops"),
    "form-regions": ("statement/test_rules.py::test_broken", "form-regions"),
    "form-signature": ("statement/test_rules.py::test_broken", "form-signature"),
    "input-returned": ("frontend/test_habits.py::test_habit_warns", "input-returned"),
    "kernel": ("run/test_native.py::test_missing_symbol", "has no symbol"),
    "kernel-result": ("errors/test_rare.py::test_rare", "kernel-result"),
    "memory-place": ("interp/test_strict.py::test_a_tile_that_is_handed_on_elsewhere",
                     "is given a tile that is elsewhere"),
    "maybe-unassigned": ("api/test_10_builder.py::test_missing_values", "maybe-unassigned"),
    "merge-type": ("passes/test_ssa.py::test_two_types_of_one_name", "merge-type"),
    "no-plan": ("passes/test_memory_plan.py::test_what_has_no_plan_is_refused",
                "have no memory references yet"),
    "poison": ("interp/test_strict.py::test_uninitialized_memory", "poison"),
    "rule-result": ("passes/test_optimise.py::test_rules_keep_the_type_of_a_call", "rule-result"),
    "signal-data": ("run/test_signal_check.py::test_data_that_decides_signals", "signal-data"),
    "signal-left": ("run/test_ranks.py::test_signals_that_are_sent_twice", "signal-left"),
    "signal-reuse": ("run/test_ranks.py::test_signals_that_are_sent_twice", "signal-reuse"),
    "spread": ("run/test_spread.py::test_programs_that_are_refused", "spread"),
    "strategy": ("run/test_cli.py::test_strategy_without_flags", "strategy"),
    "sync-deadlock": ("interp/test_strict.py::test_wrong_flags", "sync-deadlock"),
    "sync-double-set": ("interp/test_strict.py::test_wrong_flags", "sync-double-set"),
    "sync-leak": ("interp/test_strict.py::test_wrong_flags", "sync-leak"),
    "sync-race": ("interp/test_strict.py::test_a_buffer_that_is_loaded_again_too_early",
                  "sync-race"),
    "sync-tail": ("interp/test_strict.py::test_wrong_flags", "sync-tail"),
    "missing-package": ("frameworks/test_operator.py::test_library_that_is_not_there",
                        "missing-package"),
    "operator": ("frameworks/test_operator.py::test_what_is_no_operator", "operator"),
    "output": ("attack/test_paths.py::test_links_out_of_the_folder", "through a link"),
    "overlapping-views": ("run/test_host.py::test_views_that_overlap_partly",
                          "gets two views of one tensor that overlap"),
    "peer": ("run/test_ranks.py::test_a_peer_that_is_not_there", "; there are ranks 0 to "),
    "pass-name": ("run/test_cli.py::test_unknown_pass", "there is no pass"),
    "profile-page": ("timeline/test_page.py::test_without_bokeh", "pypto[profile]"),
    "program-name": ("run/test_cli.py::test_several_programs_need_a_name",
                     "defines several programs:"),
    "project-name": ("run/test_setup_commands.py::test_names_that_are_none", "project-name"),
    "cluster-refuses": ("run/test_cluster.py::test_a_cluster_that_refuses", "cluster-refuses"),
    "rank-lost": ("run/test_cluster.py::ends_when_a_rank_is_killed", "has ended in the middle"),
    "rank-placement": ("run/test_cluster.py::needs_a_cpu_for_each_rank", "rank-placement"),
    "rank-timeout": ("run/test_cluster.py::ends_when_nothing_goes_on", "rank-timeout"),
    "rank-race": ("run/test_ranks.py::test_races_are_found", "rank-race"),
    "rank-order": ("run/test_ranks.py::test_orders_are_compared", "rank-order"),
    "rank": ("errors/test_rare.py::test_rare", "rank"),
    "rules-in-circles": ("passes/test_optimise.py::test_rules_that_never_end_are_named",
                         "rules-in-circles"),
    "tile-rank": ("ops/test_rules.py::test_refusal", "tile-rank"),
    "toolchain": ("run/test_toolchain.py::test_chosen_is_missing", "PYPTO_CXX is "),
    "tune-choices": ("tune/test_tune.py::test_mistakes", "has no parameter "),
    "tune-nothing": ("tune/test_tune.py::test_a_time_limit", "all were "),
    "unset": ("interp/test_evaluate.py::test_read_before_definition",
              "is read before it has a value"),
    "unknown-slug": ("run/test_setup_commands.py::test_misspelt_slug", "unknown-slug"),
    "user-file": ("run/test_cli.py::test_files_that_are_no_kernels", "user-file"),
    "verification": ("ir/test_verify.py::test_report", "verification"),
}  # fmt: skip
"""Errors that no kernel's text can cause: the test, and the slug or words of the message in it."""


def _called(node: ast.Call) -> str:
    func = node.func
    return func.id if isinstance(func, ast.Name) else getattr(func, "attr", "")


@cache
def trees() -> dict[Path, ast.Module]:
    """Return the syntax trees of the compiler's modules."""
    paths = [p for p in sorted(SOURCE.rglob("*.py")) if p.parent.name != "dialect"]
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    """Yield all syntax nodes of the compiler with their files."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            yield path, node


@cache
def constants() -> dict[tuple[str, str], str]:
    """Return the string constants of modules, by module and name."""
    found: dict[tuple[str, str], str] = {}
    for path, tree in trees().items():
        for node in tree.body:
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            value = node.value
            if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
                found[path.stem, target.id] = str(value.value)
    return found


def strings(path: Path, node: ast.AST | None) -> list[str]:
    """Return the possible string values of an expression, as far as its text tells."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Name(id=name):
            return [constants()[path.stem, name]] if (path.stem, name) in constants() else []
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return [constants()[module, name]] if (module, name) in constants() else []
        case ast.IfExp(body=body, orelse=orelse):
            return strings(path, body) + strings(path, orelse)
        case _:
            return []


@cache
def takers() -> dict[str, int]:
    """Return the functions with a parameter ``slug``, and its position without ``self``."""
    found: dict[str, int] = {}
    for _, node in nodes():
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            names = [a.arg for a in node.args.args if a.arg != "self"]
            if "slug" in names:
                found[node.name] = names.index("slug")
    return found


@cache
def class_slugs() -> dict[str, str]:
    """Return the slugs of error classes, by class."""
    found: dict[str, str] = {}
    for _, node in nodes():
        if isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == "slug":
                    found[node.name] = ast.literal_eval(item.value)
    return found


@cache
def raised() -> dict[str, list[str]]:
    """Return every slug with the words of the errors that have it."""
    found: dict[str, list[str]] = {}
    for path, node in nodes():
        if isinstance(node, ast.FunctionDef):
            for slug in defaults(path, node):
                found.setdefault(slug, [])
        if not isinstance(node, ast.Call):
            continue
        words = [t.value for t in ast.walk(node) if isinstance(t, ast.Constant)]
        text = [word for word in words if isinstance(word, str)]
        for slug in slugs_of(path, node):
            found.setdefault(slug, []).extend(text)
    for slug, text in raised_by_the_runtime():
        found.setdefault(slug, []).extend(text)
    return found


def raised_by_the_runtime() -> Iterator[tuple[str, list[str]]]:
    """Yield the slugs of the task runtime's C++, each with the words of its error."""
    for path in sorted((SOURCE.parent / "include" / "pto" / "runtime").glob("*.hpp")):
        code = path.read_text(encoding="utf-8")
        for call in re.finditer(r"fail(?:_number)?\(\w*line, \"([a-z-]+)\",([^;]*);", code):
            words = re.findall(r'"([^"]+)"', call[2])
            if words and call[1] not in ("out-of-memory",):  # that one is a MemoryError of Python
                yield call[1], words


def defaults(path: Path, node: ast.FunctionDef) -> list[str]:
    """Return the default slug of the errors that a function raises."""
    args = node.args
    plain = zip(args.args[len(args.args) - len(args.defaults) :], args.defaults, strict=True)
    named = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    values = [value for arg, value in (*plain, *named) if arg.arg == "slug"]
    return [slug for value in values for slug in strings(path, value)]


def slugs_of(path: Path, call: ast.Call) -> list[str]:
    """Return the slugs that a call passes, or that the error it creates has."""
    name = _called(call)
    given = [word.value for word in call.keywords if word.arg == "slug"]
    if name in takers() and len(call.args) > takers()[name]:
        given.append(call.args[takers()[name]])
    if name in class_slugs() and not any(w.arg in ("slug", None) for w in call.keywords):
        return [class_slugs()[name]]
    return [slug for value in given for slug in strings(path, value)]


@cache
def golden() -> dict[str, str]:
    """Return the slugs that files in tests/errors show, with a file."""
    found: dict[str, str] = {}
    for path in sorted((TESTS / "errors").glob("*.md")):
        report = path.read_text(encoding="utf-8").rpartition("```text\n")[2]
        found |= dict.fromkeys(re.findall(r"  \[([a-z-]+)\]$", report, re.MULTILINE), path.name)
    return found


def test_every_slug_is_shown() -> None:
    """Each slug has a file in tests/errors, or a test in the table."""
    missing = sorted(set(raised()) - set(golden()) - set(ELSEWHERE))
    assert missing == [], "write tests/errors/<name>.md with a program that leads there"
    assert len(raised()) > 150


def test_table_is_short() -> None:
    """The table has no slug that a file shows, and none that nothing raises."""
    assert sorted(set(ELSEWHERE) & set(golden())) == []
    assert sorted(set(ELSEWHERE) - set(raised())) == []


@pytest.mark.parametrize("slug", ELSEWHERE)
def test_table(slug: str) -> None:
    """The named test exists, and its file has the slug, or words of an error with that slug."""
    test, words = ELSEWHERE[slug]
    name, _, function = test.partition("::")
    text = (TESTS / name).read_text(encoding="utf-8")
    functions = [n.name for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    assert function in functions
    assert words == slug or any(words in said for said in raised()[slug])
    assert words in text.replace("\\", "")
