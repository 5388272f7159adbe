"""Reasoning that a message begins with, piece by piece (`replies/stages/thoughts.py`): what leaves of it, and when."""

import pytest

from toolcalls.events import CallStart, Note, Reasoning, Removed, Text, Verdict
from toolcalls.mending.reply_watch import MessageWatch
from toolcalls.replies.stages import End, Item
from toolcalls.replies.stages.thoughts import Thoughts

BLANKS = " " * 64
CALL = CallStart(0, "t", "invoke")
VERDICT = Verdict("declined", "fenced", "invoke", "t", 0, 1)
# The pieces of a text, with · between them (`!` is a call, `?` a verdict, `^` says that nothing may be held), and what
# leaves with each: 'text', -what is taken out-, {reasoning} and * for the note; + says that something is held.
ROWS = [
    ("Hi.·<think>", "'Hi.'·'<think>'·"),
    ("<think>Hm.</think>Hi.", "-<think>-*-Hm.-{Hm.}-</think>-'Hi.'·"),
    ("<think>·Hm.·</think>·Hi.", "-<think>-*·-Hm.-{Hm.}·-</think>-·'Hi.'·"),
    (" \n<think>\nHm.\n</think>\n\nHi.\n", "- \n<think>-*-\n--Hm.-{Hm.}-\n</think>--\n\n-'Hi.\n'·"),
    ("<th·ink>Hm.</th·ink>Hi.", "+·-<think>-*-Hm.-{Hm.}+·-</think>-'Hi.'·"),
    ("<THINK>Hm.", "'<THINK>Hm.'·"),
    ("<think>Hm.</THINK>Hi.", "-<think>-*-Hm.-{Hm.}-</THINK>-'Hi.'·"),
    ("<thinking>Hm.</think></thinking>Hi.", "-<thinking>-*-Hm.</think>-{Hm.</think>}-</thinking>-'Hi.'·"),
    ("<thin·g>", "+·'<thing>'·"),
    ("<·thin·", "+·+·+·'<thin'"),
    (" · ·Hi.", "+·+·'  Hi.'·"),
    (f"{BLANKS}<think>Hm.", f"-{BLANKS}<think>-*-Hm.-{{Hm.}}·"),
    (f"{BLANKS} <think>Hm.·Hi.", f"'{BLANKS} <think>Hm.'·'Hi.'·"),
    (f"{BLANKS} ·Hi.", f"'{BLANKS} '·'Hi.'·"),
    ("<think>·\n ·Hm.", "-<think>-*·-\n -·-Hm.-{Hm.}·"),
    ("<think>Hm.\n·So.·\r\n·</think>", "-<think>-*-Hm.-{Hm.}+·-\nSo.-{\nSo.}·+·-\r\n</think>-·"),
    ("<think>Hm.\n·<·/think>", "-<think>-*-Hm.-{Hm.}+·+·-\n</think>-·"),
    ("<think>Hm.\n·</x", "-<think>-*-Hm.-{Hm.}+·-\n</x-{\n</x}·"),
    ("<think>Hm.\n", "-<think>-*-Hm.-{Hm.}+·-\n-{\n}"),
    ("<think>Hm.</thi", "-<think>-*-Hm.-{Hm.}+·-</thi-{</thi}"),
    ("<think></think>Hi.", "-<think>-*-</think>-'Hi.'·"),
    ("<think>Hm.</think>· ·\n·", "-<think>-*-Hm.-{Hm.}-</think>-·- -·-\n-··"),
    ("<think>Hm.</think>Hi.·<think>So.</think>", "-<think>-*-Hm.-{Hm.}-</think>-'Hi.'·'<think>So.</think>'·"),
    ("!·<think>Hm.", "!·'<think>Hm.'·"),
    ("<think>Hm.</thi·!·nk>", "-<think>-*-Hm.-{Hm.}+·-</thi-{</thi}!·'nk>'·"),
    ("<th·!·ink>", "+·'<th'!·'ink>'·"),
    ("<th·?·ink>Hm.", "+·?+·-<think>-*-Hm.-{Hm.}·"),
    ("<th·^·ink>", "+·'<th'·'ink>'·"),
    ("^·<think>Hm.", "·'<think>Hm.'·"),
    ("<think>Hm.\n·^·</think>Hi.", "-<think>-*-Hm.-{Hm.}+·-\n-{\n}·-</think>-'Hi.'·"),
    ("<think>Hm.</think>·^· Hi.", "-<think>-*-Hm.-{Hm.}-</think>-··- -'Hi.'·"),
]


def shown(item: Item) -> str:
    match item:
        case Text(text):
            return f"'{text}'"
        case Removed(text):
            return f"-{text}-"
        case Reasoning(text):
            assert item.moved
            return f"{{{text}}}"
        case Note():
            assert (item.rule, item.warns, item.mended) == ("reasoning_in_text", True, True)
            return "*"
        case Verdict():
            return "?"
    assert item is CALL
    return "!"


@pytest.mark.parametrize(("pieces", "left"), ROWS)
def test_what_leaves_with_each_piece(pieces: str, left: str) -> None:
    message = MessageWatch()
    stage = Thoughts(message)
    steps = []
    for piece in pieces.split("·"):
        items: list[Item] = [CALL] if piece == "!" else [VERDICT] if piece == "?" else [Text(piece)]
        out = "".join(map(shown, stage.release() if piece == "^" else stage.feed(items)))
        steps.append(out + "+" * stage.holds)
    steps.append("".join(map(shown, stage.finish(End("stop")))))
    assert "·".join(steps) == left
    assert not stage.holds
    assert list(stage.finish(End("stop"))) == []
    thought = "".join(part.partition("}")[0] for part in left.split("{")[1:])
    assert message.all_reasoning == thought
    assert message.moves == ("*" in left)


def test_where_reasoning_stands_elsewhere_a_tag_is_text() -> None:
    stage = Thoughts(MessageWatch())
    stage.elsewhere = True
    assert list(stage.feed([Text("<think>Hm."), Text("</think>")])) == [Text("<think>Hm."), Text("</think>")]
    assert stage.done
