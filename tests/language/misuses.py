"""The page of misuses: mistakes in programs with regions, and the report for each.

A mistake is a program in `tests/errors` with its whole report, which is compared exactly.
``python -m tests.language.misuses`` prints the page.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.case_files import parts

ERRORS: Final = Path(__file__).parents[1] / "errors"

MISUSES: Final = {
    "Functions and calls": """
        out-rebound out-never-written scalar-out input-written entry-called entry-entry
        helper-function call-undecorated inline-recursion inline-return inline-nothing
        inline-arguments inline-keyword inline-missing decorator-keyword incore-scope
        level-elsewhere incore-level incore-argument extern-kernel jit-runtime call-runtime
        compile-bare jit-signature call-few call-many call-number-for-tensor call-array-for-number
        run-shape run-dtype call-symbol jit-sizes run-overlap run-platform bind-dynamic-static
        dynamic-size
    """,
    "Regions and launches": """
        at-three at-literal at-list at-role region-level region-name region-keyword region-literal
        region-optimization region-optimization-twice region-slots region-split-mode region-no-dep
        region-no-dep-twice region-nested with-file with-two-managers scope-as scope-mode
        scope-manual-nested jump-from-scope region-blocks region-no-blocks spmd-missing spmd-float
        region-predicate region-result scope-result mixed-stores block-order region-rebound
        region-swap scope-aliases region-valid-result memory-overflow-region split-aiv
        split-aiv-three split-aiv-nested split-aiv-jump split-twice aiv-shard-outside
        aic-gather-outside aic-gather mixed-kernel
    """,
    "Loops, branches and the Python of a body": """
        for-iterable range-chunk init-values-name pipeline-stage unroll-bounds unroll-init
        step-zero loop-target parallel-break jump jump-in-while while-values-condition if-tensor
        if-types type-change type-branches yield-missing yield-one-branch yield-count loop-variable
        comparison-chain unsupported-statements unsupported-expressions star-args f-string
        comprehension nested-function power scalar-operands bool-arithmetic lost-in-branch
        lost-in-loop static-assert strict-ssa
    """,
    "Tensors, parts and elements": """
        subscript-many slice-step subscript-list slice-outside load-outside load-negative-offset
        slice-size slice-empty slice-rank store-twice slice-augmented
        slice-store-number slice-store-size slice-store-dtype store-shape-part slice-store-tile
        slice-drop valid-too-many region-valid-slice valid-element validshape-large
        validshape-negative fillpad-other fillpad-number pad-smaller assemble-atomic-local
        region-write-type write-dtype read-outside index-list-range run-window reshape-size
        reshape-padded transpose-axes transposed-written reinterpret-same reinterpret-width
        load-acc tensor-beside-tile tile-tensor create-shape create-dtype full-value
        array-pair array-tensor array-size array-float array-index array-outside
    """,
    "Tasks and barriers": """
        region-deps region-deps-list region-deps-unnamed deps-name task-arithmetic
        task-dummy-none spmd-submit spmd-submit-output submit-keyword barrier-inside barrier-value
        syncall-mode syncall-core syncall-soft
    """,
    "Operators": """
        bf16-vector bf16-sum element-type-op dtype-mismatch cast-no-path cast-mode cast-scalar-mode
        integer-becomes-float const-of-value shape-mismatch broadcast row-vector col-vector
        region-row-vector region-column-vector column-vector row-comparison matmul-k matmul-types
        matmul-acc-type matmul-size product-begins vectors-product stack-sum
        scratch-reduction scratch-mixed
        row-max-axis arange-rows region-sort-width mrgsort-rows gather-index scatter-dimension
        scatter-indices scatter-pattern concat-rows region-shift shift-float cmp-type
        spread-parts parts-of-two
        valid-product-sum sel-number sel-scalar row-spread keyword-elsewhere unknown-op
    """,
    "Several ranks": """
        window-dtype window-buffer world-inside comm-of-tensor host-op notify-op wait-cmp put-part
        put-dtype remote-store-window
    """,
}
"""The kinds of misuse, and the programs of each."""

TITLE: Final = """# Misuses and what is said of them

Mistakes in programs with regions, launches and several ranks, as the language refuses them. Each
links to a program in `tests/errors` that makes it, with the whole report: place, caret and a hint.
The programs run in `pytest tests/errors/test_errors.py -k NAME`; `pytest --update-golden` writes
this page from `tests/language/misuses.py`. [Errors](errors.md) has these and all others by slug,
and [What can be found without running](checking.md) what is a warning.
"""


def page() -> str:
    """Return the text of the page."""
    lines = [TITLE]
    for area, names in MISUSES.items():
        lines.append(f"\n## {area}\n\n| Misuse | What is said |\n|---|---|\n")
        for name in names.split():
            path = ERRORS / f"{name}.md"
            title = path.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
            lines.append(f"| [{title}](../tests/errors/{name}.md) | {_said(path)} |\n")
    return "".join(lines)


def _said(path: Path) -> str:
    """Return the first line of a report as a table cell: as code, so that it has no markup."""
    first = parts(path)[2].split("\n", 1)[0].removeprefix("error: ")
    message, _, slug = first.rpartition("  [")
    assert re.fullmatch(r"[a-z-]+\]", slug)
    text = message.replace("|", r"\|")
    quoted = f"`` {text} ``" if "`" in text else f"`{text}`"
    return f"{quoted} `[{slug}`"


if __name__ == "__main__":
    print(page(), end="")
