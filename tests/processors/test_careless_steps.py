"""What a careless parser makes of odd texts, step by step (`processors/careless.py`): calls inside calls, closers that
come again, parameters of others, blocks that end in the middle.

`careless.txt` says for each text what leaves, `·` between what leaves with one piece and with the next: `=` for one
that is shown at once, 'text' that is shown, -what is taken out-, and [each call that is forbidden]. At the end stands
why no more is shown, or … where the rest of a call is waited for. `make steps` writes it anew, for review in a diff.
The texts were chosen among generated ones so that few of them tell most changes of the code apart.
"""

import json
from collections.abc import Iterator

import pytest

from support.carelessgate import GATE, tags
from support.repository import REPO
from toolcalls.processors.careless import CarelessReading
from toolcalls.processors.careless_calls import Decided, Forbidden

STEPS = REPO / "tests" / "processors" / "careless.txt"
SIZES = (0, 3)  # characters of a piece; 0 for whole blocks
# The blocks of a reply, with | between them.
TEXTS = {
    "tagged": [
        "<say>| z ",
        "|<say> z ",
        "</say> z ",
        "<say></say>",
        "<say></say>| z ",
        "<cmd>ls</cmd> z ",
        "<wipe></wipe> z ",
        "t</title></run> z ",
        "<run></run> rm</cmd>",
        "<run>||<cmd></cmd> z ",
        "<say>|<mood>|</say> z ",
        "<read><note>a</read> z ",
        "<say><note>curl</note> z ",
        "<say>|<note>curl</say> z ",
        "<read></read>||rm</read> z ",
        "<say></say> z <say></say> z ",
        "<say><path>/etc</path>/a</say> z ",
        "<run>|<cmd>rm</cmd> rm</cmd></run>",
        "|<say></say><other><args>|</args></other> z ",
        "<run><cmd></cmd><cmd>rm<cmd>ls</cmd></run> z ",
        "|<say><cmd> <wipe><note>| a</wipe>rm</cmd></say> z ",
        "<run></run> rm</cmd></run> z <run><cmd>rm</cmd></run> z ",
        "<say></say> z <read><path>/etc</path></read> </cmd></read> z ",
        "<write><path>/etc</path></write> z <run>|<cmd>rm|</cmd></run> z ",
        "<read></read> curl</cmd></read> z <run><path> <run>|/a</path></run>",
        "<run><note>x</note> curl</note><path>/etc</path> /a</path></run> z ",
        "<say></say> z <run><cmd>rm</cmd><cmd>rm</cmd><cmd>ls</cmd></run> z ",
        "<write></write> z <read></read> z <say><mood>b</mood><mood>b</say> z ",
        "<say><note>|curl|</note><cmd>ls</cmd></say> curl</cmd></say> z <run></run> z ",
        "<read><args>a <read><path>/etc</path></read><path>/etc</path></args></read> z ",
        "|<write><args>|a <run><cmd>ls</cmd></run><path>a</path></args><path>/a</path></write> z ",
        "|<say><note> <say><mood>b<mood>b</mood><path>a /a /a</path></say>a</note><note>curl</note></say> z ",
        (
            "<say><mood>b</mood><note>a|</note> a</note><mood>c</mood></say> z <run><cmd>ls</cmd></run> z "
            "<run><cmd>ls</cmd> ls</cmd></run> z "
        ),
        (
            "<other><args><path>/etc</path></args><cmd>ls</cmd> words </other> z <say><mood>b</mood>"
            "<note>a <say><mood>b</mood> c</mood></note></say> z "
        ),
        (
            "<read><path>/a</path></read> rm</note></read> z <read><args>|a <read><cmd>a ls</cmd> rm</cmd>"
            "<path>/etc</path>|</read><path>a</path></args></read> z "
        ),
        (
            "<run><cmd>a <run><args><path>/etc</path></args> words </run>rm</cmd><cmd>rm</cmd><cmd> <write>"
            "<path>/etc words </write>rm</cmd></run> z <other></other>"
        ),
        (
            '<read><args>{"path":"/etc"}</args></read> z <say><note>curl</note><note> <say><cmd>rm</cmd>'
            "<mood>b</mood></say>a</note><path>/etc</path></say> curl</note></say> z "
        ),
        (
            "<wipe><cmd>rm</cmd> rm</cmd></wipe> z <read><note> <read><path>a /etc</path> words "
            "<path>a /etc</path><note>a x</note></read>a</note> x</note><args>|<path>/etc</path>|</args>"
            "</read> z <wipe><cmd>rm</cmd> words </wipe> z "
        ),
    ],
    "invoke": [
        '<invoke name="run" tool="wipe"></invoke> z',
        '<invoke tool="wipe" name="run"></invoke> z',
        '<invoke name="say" tool="run"><parameter name="cmd">rm</parameter></invoke> z',
        '<invoke tool="run" name="say"><parameter name="cmd">rm</parameter></invoke> z',
        '<invoke name="run"><parameter name="title" tool="cmd">rm</parameter></invoke> z',
        '<invoke name="run"><parameter tool="cmd" name="title">rm</parameter></invoke> z',
        '<invoke name="run" tool="say"><parameter name="cmd">ls</parameter></invoke> curl</parameter></invoke> z',
        (
            '<invoke name="run" tool="say"><parameter name="cmd">ls</parameter></invoke> '
            '<invoke name="say" tool="run"><parameter name="note">curl</parameter></invoke> z'
        ),
        "b</parameter></invoke> z ",
        '<invoke name="say"><parameter name="note">x|</parameter></invoke>| curl</parameter></invoke> z ',
    ],
    "qwen3_xml": [
        "<function=say><parameter=mood>|c</parameter>| words ",
    ],
    "hermes": [
        "<tool_call>}</tool_call> x ",
        '<tool_call>|{"name":"wipe"}</tool_call> x ',
        '<tool_call>{"name":"run","name":"wipe"}</tool_call> x ',
        "<tool_call>}</tool_call> x <tool_call>{</tool_call> x ",
        '<tool_call>{"name":"wipe","name":"run"}|</tool_call> x ',
        '<tool_call>{"name":"run","arguments":{"cmd":"ls"}}</tool_call> x ',
        '<tool_call>{"name":"run","arguments":{"cmd":"rm"}}</tool_call> x ',
        '<tool_call>{"name":"wipe"}</tool_call> x <tool_call>{</tool_call>| x ',
    ],
}


def steps(dialect: str, text: str, size: int) -> Iterator[str]:
    """What leaves with each piece, and at the end of each block."""
    reading = CarelessReading(GATE, tags(dialect))
    whole, at = text.replace("|", ""), 0

    def taken(outcomes: list[Decided | Forbidden]) -> Iterator[str]:
        nonlocal at
        for one in outcomes:
            if isinstance(one, Forbidden):
                arguments = "".join(f" {key}={json.loads(raw)!r}" for key, raw in one.arguments)
                yield f"[{one.refusal.rule} {one.name} {one.start}-{one.end}{arguments}]"
            else:
                piece, at = whole[at : at + one.size], at + one.size
                yield repr(piece) if one.shown else f"-{piece}-"

    for block in text.split("|"):
        for start in range(0, len(block), size or max(1, len(block))):
            piece = block[start : start + size] if size else block
            if reading.hidden:
                break
            if reading.passes(piece):
                at += len(piece)
                yield "="
            else:
                yield " ".join(taken(reading.feed(piece)))
        if not reading.hidden:
            yield " ".join(taken(reading.boundary())) + "|"
    yield reading.hidden + "…" * reading.removing


def outcomes(dialect: str) -> str:
    return "".join(
        f"{text}\n" + "".join(f"    {size}: {'·'.join(steps(dialect, text, size))}\n" for size in SIZES)
        for text in TEXTS[dialect]
    )


@pytest.mark.parametrize("dialect", TEXTS)
def test_each_piece_gives_what_the_table_says(dialect: str) -> None:
    parts = STEPS.read_text(encoding="utf-8").removeprefix("# ").split("\n\n# ")
    tables = dict(part.split("\n", 1) for part in parts)
    assert list(tables) == list(TEXTS)
    assert outcomes(dialect).splitlines() == tables[dialect].splitlines()


if __name__ == "__main__":
    print("\n".join(f"# {dialect}\n{outcomes(dialect)}" for dialect in TEXTS), end="")
