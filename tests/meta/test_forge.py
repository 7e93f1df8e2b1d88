"""The forge's workflows, hooks and templates are consistent with the project."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from tests.artifact import first_kernel, sections, version

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NAMES = pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def commands(workflow: Path) -> list[str]:
    """Return the command lines that a workflow runs."""
    return re.findall(r"^ +(?:- )?run: (.+)$", text(workflow), re.MULTILINE)


def test_there_are_workflows() -> None:
    """Changes, nightly runs and releases each have one."""
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "nightly.yml", "release.yml"]


@NAMES
def test_workflows_ask_for_little(workflow: Path) -> None:
    """A workflow may only read the repository; further permissions are per job."""
    assert "\npermissions:\n  contents: read\n\n" in text(workflow)
    assert "\nconcurrency:\n" in text(workflow)
    jobs = text(workflow).partition("\njobs:\n")[2]
    assert re.findall(r"^ +(\w[\w-]*): write", jobs, re.MULTILINE) == (
        ["id-token"] if workflow.name == "release.yml" else []
    )
    count = len(re.findall(r"^  \w+:$", jobs, re.MULTILINE))
    assert jobs.count("\n    timeout-minutes: ") == count
    checkouts = re.findall(r"uses: actions/checkout@.*\n +with:\n +persist-credentials: (.+)", jobs)
    assert checkouts == ["false"] * jobs.count("actions/checkout@")


def test_actions_have_one_version() -> None:
    """Each action is pinned to its major version, the same in all workflows."""
    used = {
        name
        for workflow in WORKFLOWS
        for name in re.findall(r"^ +(?:- )?uses: ([^ \n]+)", text(workflow), re.MULTILINE)
    }
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", name) for name in used)
    assert len({name.partition("@")[0] for name in used}) == len(used)


@NAMES
def test_commands_exist(workflow: Path) -> None:
    """The make targets, modules and folders that a workflow names exist."""
    targets = re.findall(r"^([\w./$()-]+):", text(ROOT / "Makefile"), re.MULTILINE)
    targets = [target.replace("$(VENV)", ".venv") for target in targets]
    more = re.findall(r"command: (tests\.[\w.]+)", text(workflow))
    found = [*more]
    for command in commands(workflow):
        words = shlex.split(command)
        if words[0] == "make":
            assert words[1] in targets
        if "-m" in words:
            found.append(words[words.index("-m") + 1])
        for word in words:
            assert not word.startswith("tests/") or (ROOT / word).is_dir()
    for module in found:
        if module.startswith("tests."):
            assert (ROOT / f"{module.replace('.', '/')}.py").is_file()


def test_every_python_is_tested() -> None:
    """CI runs the Python versions that the package declares."""
    project = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
    named = [line.rpartition(" ")[2] for line in project["classifiers"] if "Python :: 3." in line]
    tested = re.findall(r"python: \[(.+)\]", text(ROOT / ".github" / "workflows" / "ci.yml"))
    assert tested[0] == ", ".join(f'"{name}"' for name in named)
    assert project["requires-python"] == f">={named[0]}"


def test_hooks_are_what_check_runs() -> None:
    """The hooks use the formatter and linter that the development tools pin."""
    tools = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]["optional-dependencies"]["dev"]
    [ruff] = [tool for tool in tools if tool.startswith("ruff")]
    hooks = text(ROOT / ".pre-commit-config.yaml")
    assert set(re.findall(r"ruff==[\d.]+", hooks)) == {ruff}


def test_changelog_has_this_version() -> None:
    """Below the unreleased section is this version, with its date."""
    (unreleased, no_date, _), (name, date, body), *_ = sections()
    assert (unreleased, no_date) == ("Unreleased", "")
    assert (name, bool(date)) == (version(), True)
    assert body


def test_the_readme_has_a_first_kernel() -> None:
    """The program used to test a built package is that of the README."""
    assert "class AddOne" in first_kernel()
    assert first_kernel().rstrip().endswith("assert (out == 2.0).all()")
