"""What is said of a reply that leaves its agent without a call (`mending/reply_watch.py`), fact by fact.

A row has the facts of a reply, what its API is like, and the notes. A fact is `text …`, `thought …`, `ended …`,
`called`, `lifted`, `other`, `moves`, `closed`, `missed`; after `2:` it is one of the second message; `{…}` is a
payload that is no event of the reply, and `={…}` one that is.
"""

from typing import Any

import pytest

from toolcalls.mending.reply_watch import ReplyWatch

# An API that has reasons to finish for calls and a place for them; others say what is different.
CHAT: dict[str, Any] = {"says_calls": True, "stop_answers": False, "carries_calls": True}
PLAIN = {**CHAT, "carries_calls": False}
SILENT = {**CHAT, "says_calls": False}
CHOSEN = {**CHAT, "stop_answers": True}
ERROR = {**CHAT, "is_error": True}
BOTH = {**SILENT, "stop_answers": True}
EMPTY = "empty: finish stop, tokens unknown, 0 characters of reasoning"
COUNTED = "empty: finish stop, 1,234 output tokens, 0 characters of reasoning"
NO_FINISH = "no_finish: the reply ended without a finish reason"
PROMISES = "finish_promises_calls: the finish reason is that of calls, and there is none"
IN_TEXT = "reasoning_in_text: the text holds reasoning, in tags"
UNOPENED = "reasoning_in_text: the text closes reasoning that nothing in it opened"
CALL = "call(a)"  # in reasoning: a call of `a`
FAILED = '{"error": {"message": "Failed to call a function.", "failed_generation": "<function=a>{}</function>"}}'

ROWS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("text Hi.|ended stop", CHAT, []),
    ("called|ended tool_calls", CHAT, []),
    ("lifted|ended tool_calls", CHAT, []),
    ("text Hi.|called|ended |ended tool_calls|ended ", CHAT, []),
    # The reason to finish.
    ("text Hi.", CHAT, [NO_FINISH]),
    ("text Hi.|ended ", CHAT, [NO_FINISH]),
    ("text Hi.|ended ", SILENT, []),
    ("text Hi.", SILENT, [NO_FINISH]),
    ("text Hi.", PLAIN, []),
    ("text Hi.|missed", CHAT, []),
    ('text Hi.|{"error": 1}', CHAT, []),
    ("other", CHAT, []),
    ("called|other", CHAT, [NO_FINISH]),
    ("lifted|other", CHAT, [NO_FINISH]),
    ("text Hi.|other", CHAT, [NO_FINISH]),
    ("called|ended stop", CHAT, ["finish_denies_calls: it says stop"]),
    ("lifted|ended stop", CHAT, []),
    ("called|ended stop", CHOSEN, []),
    ("called|ended stop", SILENT, []),
    ("called|ended stop", BOTH, []),
    ("called|ended stop", PLAIN, []),
    ("called|ended " + "x" * 50, SILENT, [f"finish_denies_calls: it says {'x' * 40}"]),
    ("called|ended pause_turn", CHAT, []),
    *((f"called|ended {cut}", CHAT, []) for cut in ("length", "content_filter", "failed")),
    ("called|ended length|ended other", CHAT, ["finish_denies_calls: it says other"]),
    ("called|ended tool_calls|ended other", CHAT, []),
    ("text Hi.|ended tool_calls", CHAT, [PROMISES]),
    ("text Hi.|ended tool_calls|ended stop", CHAT, [PROMISES]),
    ("text Hi.|ended tool_calls", PLAIN, []),
    ("text Hi.|ended tool_calls|missed", CHAT, []),
    ("text Hi.|ended tool_calls|2:called|2:ended tool_calls", CHAT, []),
    ("text Hi.|ended tool_calls|2:lifted|2:ended tool_calls", CHAT, []),
    ("text Hi.|ended tool_calls|2:text Ho.|2:ended stop", CHAT, [PROMISES]),
    ("text Hi.|ended stop|2:text Ho.", CHAT, [f"2:{NO_FINISH}"]),
    # Reasoning.
    ("text <think>Hm.|ended stop", CHAT, [IN_TEXT]),
    ("text  \n|text <thi|text nk>Hm.|ended stop", CHAT, [IN_TEXT]),
    ("text So <think>Hm.|ended stop", CHAT, []),
    ("text <think>Hm.|ended stop", PLAIN, []),
    ("moves|text <think>Hm.|called|ended tool_calls", CHAT, []),
    ("text Hm.|closed|ended stop", CHAT, [UNOPENED]),
    # Nothing.
    ("ended stop", CHAT, [EMPTY]),
    ("text  \n|ended stop", CHAT, [EMPTY]),
    ("ended stop", PLAIN, [EMPTY]),
    ("ended length", CHAT, [EMPTY.replace("stop", "length")]),
    ("ended ", SILENT, [EMPTY.replace("stop", "none")]),
    ("thought Hm.|ended stop", CHAT, [EMPTY.replace(" 0 ", " 3 ")]),
    ("thought Hm.|text Hi.|thought So.|ended stop", CHAT, []),
    (f"thought So {CALL}|ended stop", CHAT, ["call_in_reasoning: a", EMPTY.replace(" 0 ", " 10 ")]),
    (f"thought {CALL}|ended stop", PLAIN, [EMPTY.replace(" 0 ", " 7 ")]),
    (f"thought {CALL}|text Hi.|ended stop", CHAT, []),
    (f"thought {CALL}|called|ended tool_calls", CHAT, []),
    ("called|thought So.|ended tool_calls", CHAT, []),
    ("ended stop|other", CHAT, []),
    ("ended stop|missed", CHAT, []),
    ('ended stop|{"error": 1}', CHAT, []),
    *((f"ended {reason}", CHAT, []) for reason in ("content_filter", "load", "unload")),
    ('={"usage": {"completion_tokens": 1234}}|ended stop', CHAT, [COUNTED]),
    # No message at all.
    ("", CHAT, []),
    ('={"a": 1}', CHAT, [NO_FINISH, EMPTY.replace("stop", "none")]),
    ('{"a": 1}', CHAT, [NO_FINISH, EMPTY.replace("stop", "none")]),
    ('{"error": 1}', CHAT, []),
    ("missed|={}", CHAT, []),
    ('={"usage": {"completion_tokens": 1234}}' + "|={}" * 3 + "|ended stop", CHAT, [COUNTED]),
    ('={"usage": {"completion_tokens": 1234}}' + "|={}" * 4 + "|ended stop", CHAT, [EMPTY]),  # only the last ones count
    # A payload that may hold a call, and was not read.
    ('ended tool_calls|{"tool_calls":[{"id": 1}]}', CHAT, []),
    ('ended stop|{"tool_calls": [{"id": 1}]}', CHAT, []),
    *((f'ended stop|{{"{word}": 1}}', CHAT, []) for word in ("function_call", "functionCall", "tool_use")),
    ('ended stop|={"tool_use": 1}', CHAT, [EMPTY]),
    # An error that quotes a call.
    (FAILED, CHAT, ["call_in_error"]),
    (FAILED, ERROR, ["call_in_error"]),
    (f"text Hi.|2:ended stop|{FAILED}", CHAT, ["call_in_error"]),
    (f"={FAILED}|ended failed", CHAT, ["call_in_error", EMPTY.replace("stop", "failed")]),
    (f"={FAILED}|ended stop", CHAT, [EMPTY]),
    (f"={FAILED}|ended failed|ended stop", CHAT, [EMPTY]),
    ('{"a": 1}', ERROR, []),
    ("ended stop", ERROR, []),
]  # fmt: skip


def watch(facts: str, terms: dict[str, Any]) -> ReplyWatch:
    found = ReplyWatch(lambda text: ["a"] if CALL in text else [], **terms)
    for fact in filter(None, facts.split("|")):
        if fact.startswith(("{", "={")):
            found.payload(fact.removeprefix("=").encode(), known=fact.startswith("="))
            continue
        word, _, rest = fact.removeprefix("2:").partition(" ")
        if word == "missed":
            found.passed_over()
            continue
        message = found.message(2 if fact.startswith("2:") else 1)
        match word:
            case "text" | "thought" | "ended":
                getattr(message, word)(rest)
            case "called":
                message.called()
            case "lifted":
                message.lifted += 1
            case "other":
                message.has_other = True
            case "moves":
                message.moves = True
            case "closed":
                message.closed_nothing = True
            case _:
                raise AssertionError(fact)
    return found


@pytest.mark.parametrize(("facts", "terms", "notes"), ROWS)
def test_what_is_said_of_a_reply(facts: str, terms: dict[str, Any], notes: list[str]) -> None:
    found = list(watch(facts, terms).notes())
    said = [f"{'2:' if number == 2 else ''}{note.rule}: {note.text}" for number, note in found]
    assert [one.partition(": ")[0] if one.startswith("call_in_error") else one for one in said] == notes
    assert all(note.warns for _, note in found)
    if not any(fact.startswith(("2:", "text", "ended", "thought", "called", "lifted")) for fact in facts.split("|")):
        assert {number for number, _ in found} <= {0}, "of a reply without a message, the first"


def test_of_the_reasoning_the_end_is_kept() -> None:
    message = watch("", CHAT).message(1)
    assert not message.only_reasons
    message.thought("a" * 100)
    message.thought("b" * 256 * 1024)
    assert message.all_reasoning == "b" * 256 * 1024
    assert message.reasoned == 100 + 256 * 1024
    assert not message.only_reasons  # not all of it is kept
    one = watch(f"thought {'a' * 300_000}", CHAT).message(1)
    assert (one.only_reasons, len(one.all_reasoning)) == (True, 300_000)
    for then in ("text Hi.", "called", "other"):
        assert not watch(f"thought Hm.|{then}", CHAT).message(1).only_reasons
    assert watch("thought Hm.|text  ", CHAT).message(1).all_reasoning == "Hm."
    for then in ("text Hi.", "called"):
        assert watch(f"thought Hm.|{then}|thought So.", CHAT).message(1).all_reasoning == ""


@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [
        (["Hi"], [False]), ([" ", "\n", "x"], [True, True, False]), (["<", "think>", "x" * 26], [True, True, False]),
        (["[" + "x" * 30, "x", "x"], [True, False, False]), ([" <a", "b"], [True, True]),
    ],
)  # fmt: skip
def test_more_of_the_text_is_of_interest_while_it_may_begin_with_a_tag(pieces: list[str], wanted: list[bool]) -> None:
    message = watch("", CHAT).message(1)
    assert [message.text(piece) for piece in pieces] == wanted
    assert message.head == "".join(pieces).lstrip()[:32]
    message.moves = True
    assert not message.text("<")


def test_many_reasons_to_finish_are_not_all_kept() -> None:
    message = watch("ended a|ended a|ended b|ended a", CHAT).message(1)
    assert message.finishes == ["a", "b", "a"]
    for number in range(20):
        message.ended(str(number))
    assert len(message.finishes) < 12
    assert message.finishes[-1] == "19"
