"""A form as the text of a file: a dialect of the package with its example, or data that was found otherwise."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from toolcalls.config.keys import Keys
from toolcalls.config.nodes import document
from toolcalls.dialects import OwnForm, OwnName, about, all_dialects, declared
from toolcalls.own_dialects.engines import ENGINES, Unsayable, built, readers, said
from toolcalls.own_dialects.examples import Example, contradicts
from toolcalls.own_dialects.trial import tools_of
from toolcalls.request import Tool

_LONGEST_WORDS = 200  # characters


class _Dumper(yaml.SafeDumper):
    """Lists below their keys, texts of several lines as blocks, words that are no text elsewhere in quotes."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - configurations have none
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    lines = text.split("\n")
    plain = (
        len(lines) > 1 and text.strip() and not any(line != line.rstrip() for line in lines) and text[0] not in " \n"
    )
    if plain and all(one.isprintable() or one == "\n" for one in text):
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")
    style = None if re.fullmatch(r"[A-Za-z<][\w.<>/|=-]*", text) and "\n" not in text else '"'
    if style and "\\" not in text and text.isprintable() and "'" not in text and text:
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def dialect_text(name: str, known_as: str) -> str:
    """A dialect of the package as a file that brings it under another name. Raises Unsayable."""
    form, data = said(all_dialects()[name])
    known = about(name)
    made = OwnName(known_as, OwnForm(built(ENGINES[form], known_as, read_data(form, data)), known))
    tools = tools_of([known.call])
    calls = ((known.call.name, json.loads(known.call.arguments)),)
    fenced = f"```\n{known.example}\n```\nis how a call is written."
    tried = [Example(known.example, calls, None, 1), Example(fenced, (), None, 1)]
    wrong = [contradicts(made, one, tools) for one in tried]
    if wrong[0] is not None:
        raise Unsayable(f"beside its data it needs what else the package knows of it: {wrong[0]}")
    examples = [example(known.example, [known.call])]
    examples += [example(fenced, [])] if wrong[1] is None else []
    result = declared(name, "RESULT")
    words = {"written_by": known.written_by, "source": " ".join(known.source.split())}
    more = {key: value for key, value in words.items() if value and len(value) <= _LONGEST_WORDS}
    more |= {"result": result} if isinstance(result, str) else {}
    remarks = (f"The dialect {name} of this package as a file.", "See docs/own-dialects.md.")
    return form_text(known_as, form, data, examples, about=more, one_call=known.one_call, tools=tools, remarks=remarks)


def form_text(
    name: str,
    form: str,
    data: Mapping[str, Any],
    examples: Sequence[Mapping[str, Any]],
    *,
    about: Mapping[str, str],
    one_call: bool = False,
    tools: Sequence[Tool] = (),
    remarks: Sequence[str] = (),
) -> str:
    """The file's text.

    data      as a file says it (`engines.said`)
    about     `written_by`, `source`, `result`, where they are known
    tools     those of the examples
    remarks   lines of comment at the top
    """
    file: dict[str, Any] = {"version": 1, "name": name, "form": form, **about}
    file |= {"one_call": True} if one_call else {}
    file["data"] = dict(data)
    if tools:
        file["tools"] = [{"name": one.name, "parameters": one.schema} for one in tools]
    file["examples"] = [dict(one) for one in examples]
    head = "".join(f"# {line}".rstrip() + "\n" for line in remarks)
    body = yaml.dump(file, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1 << 20, default_flow_style=False)
    return head + body


def example(text: str, calls: Sequence[tuple[str, str]], shown: str | None = None) -> dict[str, Any]:
    """An example as a file says it. `calls`: names with their arguments as JSON text."""
    said = [{"name": name, "arguments": json.loads(arguments)} for name, arguments in calls]
    return {"text": text, "calls": said, **({} if shown is None else {"shown": shown})}


def read_data(form: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """An engine's data as its file is read."""
    keys = Keys()
    found = keys.read_mapping(document(json.dumps(data)), "data", readers(ENGINES[form]))
    if keys.mistakes:
        raise Unsayable(str(keys.mistakes[0]))
    return found
