"""``pypto completion``: a script that lets a shell complete commands, options and their values.

Completions are read from the parsers of the commands, so that nothing is stated twice. Where a
script has nothing to offer, shells complete file names.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator, Mapping
from typing import Final

from pypto._src.commands.cli_options import Commands
from pypto._src.records import NamedTuple

_LOADED: Final = {
    "bash": 'eval "$(pypto completion bash)"     # in ~/.bashrc',
    "zsh": 'eval "$(pypto completion zsh)"      # in ~/.zshrc, after compinit',
    "fish": "pypto completion fish | source      # in ~/.config/fish/config.fish",
}


class Option(NamedTuple):
    """An option of a command, as a shell offers it."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...]


class Command(NamedTuple):
    """A command with all that can be completed after it."""

    name: str
    help: str
    options: tuple[Option, ...]
    words: tuple[str, ...]
    """Choices of positional arguments; others are file names or the user's own words."""


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "completion", help="print a script that completes commands and options in a shell"
    )
    parser.add_argument("shell", choices=tuple(_LOADED), help="for which the script is")
    parser.set_defaults(command=functools.partial(_completion, commands))


def _completion(commands: Commands, args: argparse.Namespace) -> int:
    scripts = {"bash": _bash, "zsh": _zsh, "fish": _fish}
    print(f"# {_LOADED[args.shell]}")
    print("\n".join(scripts[args.shell](list(_read(commands)))))
    return 0


def _read(commands: Commands) -> Iterator[Command]:
    for name, parser in commands.choices.items():
        options: list[Option] = []
        words: list[str] = []
        for action in parser._actions:  # argparse has no public name
            choices = tuple(str(choice) for choice in action.choices or ())
            if action.option_strings:
                takes_value = action.nargs != 0
                names = tuple(action.option_strings)
                options.append(Option(names, _short(action.help), takes_value, choices))
            else:
                words += choices
        yield Command(name, _short(_help_of(commands, name)), tuple(options), tuple(words))


def _help_of(commands: Commands, name: str) -> str | None:
    rows = commands._choices_actions  # pyright: ignore[reportPrivateUsage]  argparse has no other
    return next((row.help for row in rows if row.dest == name), None)


def _short(text: str | None) -> str:
    """Return the first part of a help text, without characters that are special to shells."""
    first = (text or "").partition(";")[0].partition(":")[0]
    return "".join(letter for letter in first if letter not in "'\"\\`$[]%")


def _values(options: tuple[Option, ...]) -> Mapping[str, str]:
    """Return the choices of each option that takes a value, as words; empty if any will do."""
    return {
        "|".join(option.names): " ".join(option.choices) for option in options if option.takes_value
    }


def _bash(commands: list[Command]) -> Iterator[str]:
    yield "_pypto() {"
    yield "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words="
    yield "    if ((COMP_CWORD == 1)); then"
    yield f"        words='{' '.join(each.name for each in commands)} --help --version'"
    yield "    else"
    yield '        case "${COMP_WORDS[1]}" in'
    for each in commands:
        names = " ".join(name for option in each.options for name in option.names)
        yield f"        {each.name})"
        yield '            case "$previous" in'
        for option, values in _values(each.options).items():
            yield f"            {option}) words='{values}' ;;"
        yield "            *)"
        yield f'                if [[ $current == -* ]]; then words="{names}"'
        yield f"                else words='{' '.join(each.words)}'; fi ;;"
        yield "            esac ;;"
    yield "        esac"
    yield "    fi"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield "}"
    yield "complete -o default -F _pypto pypto"


def _zsh(commands: list[Command]) -> Iterator[str]:
    yield "_pypto() {"
    yield "    local -a commands options values"
    yield "    if (( CURRENT == 2 )); then"
    rows = " ".join(f"'{each.name}:{each.help}'" for each in commands)
    yield f"        commands=({rows})"
    yield "        _describe command commands"
    yield "        return"
    yield "    fi"
    yield '    case "${words[2]}" in'
    for each in commands:
        rows = " ".join(f"'{name}:{o.help}'" for o in each.options for name in o.names)
        yield f"    ({each.name})"
        yield '        case "${words[CURRENT-1]}" in'
        for option, values in _values(each.options).items():
            offered = f"compadd -- {values}" if values else "_files"
            yield f"        ({option}) {offered}; return ;;"
        yield "        esac"
        yield f"        options=({rows})"
        yield f"        values=({' '.join(each.words)}) ;;"
    yield "    esac"
    yield "    if [[ $PREFIX == -* ]]; then"
    yield "        _describe -o option options"
    yield "    else"
    yield "        compadd -a values"
    yield "        _files"
    yield "    fi"
    yield "}"
    yield "compdef _pypto pypto"


def _fish(commands: list[Command]) -> Iterator[str]:
    for each in commands:
        yield f"complete -c pypto -n __fish_use_subcommand -f -a {each.name} -d '{each.help}'"
    for each in commands:
        behind = f"complete -c pypto -n '__fish_seen_subcommand_from {each.name}'"
        for option in each.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r"
            yield f"{behind} {names}{value if option.takes_value else ''} -d '{option.help}'"
        if each.words:
            yield f"{behind} -a '{' '.join(each.words)}'"
