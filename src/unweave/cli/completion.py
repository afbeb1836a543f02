"""Completion by the shell: of commands and flags as click does it, of ``key=value`` words of ours.

bash takes ``=`` for the end of a word: of ``objective=Fac`` it passes ``objective``, ``=`` and ``Fac``, and replaces
the last piece only. So words are put together again here, and of a value nothing but the value is answered.
"""

import os
from collections.abc import Iterator

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string


def rejoined(words: list[str]) -> list[str]:
    """Words that bash has cut at ``=``, as they were typed.

    Example:
        >>> rejoined(["unweave", "train", "objective", "=", "Fac", "decoder", "="])
        ['unweave', 'train', 'objective=Fac', 'decoder=']
    """
    whole: list[str] = []
    for word in words:
        joins = whole and (word == "=" or whole[-1].endswith("="))
        if joins and not whole[-1].startswith("--"):
            whole[-1] += word
        else:
            whole.append(word)
    return whole


class KeyValueBash(BashComplete):
    """bash, for command lines of ``key=value`` words."""

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' line kind value
    COMPREPLY=()
    for line in $(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" %(complete_var)s=bash_complete "$1"); do
        kind=${line%%%%,*}
        value=${line#*,}
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            key) compopt -o nospace; COMPREPLY+=("$value") ;;
            *) COMPREPLY+=("$value") ;;
        esac
    done
}
complete -F %(complete_func)s %(prog_name)s
"""

    @staticmethod
    def _check_version() -> None:
        """Any bash of the last ten years will do."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is being typed, and that one, whole."""
        position = int(os.environ["COMP_CWORD"])
        words = split_arg_string(os.environ["COMP_WORDS"])[: position + 1]
        begun = words.pop() if len(words) > position else ""
        if begun and (begun == "=" or words[-1] == "=") and len(words) > 1:
            whole = rejoined([*words, begun])
            return whole[1:-1], whole[-1]
        return rejoined(words)[1:], begun


add_completion_class(KeyValueBash)


def words_of_train(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Keys, each with its ``=``; behind one, the names that it may have. For other shells than bash, whole words."""
    key, equals, begun = incomplete.partition("=")
    if not equals:
        return [CompletionItem(f"{name}=", type="key") for name in _keys() if name.startswith(incomplete)]
    bare = os.environ.get("_UNWEAVE_COMPLETE", "").startswith("bash")
    start = "" if bare else f"{key}="
    return [
        CompletionItem(f"{start}{name}") for name in _values(key) if name.lower().startswith(begun.lower())
    ]


def targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Data sets by name, and files."""
    from unweave.data.registry import DATASETS

    known = [CompletionItem(name.lower()) for name in DATASETS if name.lower().startswith(incomplete)]
    return [*known, CompletionItem(incomplete, type="file")]


def _keys() -> Iterator[str]:
    import dataclasses

    from unweave.runs.config import SLOTS, Config
    from unweave.slots import options_of

    for field in dataclasses.fields(Config):
        yield field.name
        if field.name in SLOTS:
            found = {name for _, part in SLOTS[field.name].loadable() for name in options_of(part)}
            yield from (f"{field.name}.{name}" for name in sorted(found))


def _values(key: str) -> list[str]:
    from unweave.runs.config import SLOTS
    from unweave.runs.recommended import TRAININGS

    return list(TRAININGS) if key == "training" else list(SLOTS.get(key, ()))
