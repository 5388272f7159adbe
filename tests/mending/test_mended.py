"""What a mended call's verdict says was wrong with it (`mending/mended.py`)."""

from typing import get_args

import pytest

from toolcalls.events import Defect, Reason, Repair, Verdict
from toolcalls.mending.mended import with_mended

NOT_JSON: tuple[Repair, ...] = (
    "single_quotes", "backticks", "doubled_braces", "raw_newline", "invalid_escape", "trailing_comma",
    "doubled_separator", "python_literal", "comment", "number", "bare_key", "surplus_bracket", "escaped_line_end",
)  # fmt: skip
RENAMED = {"shared_index": "glued_calls", "string_arguments": "double_encoded", "name": "misspelt_name"}
NATIVE = Verdict("native", None, None, "Bash", 0, 0, index=0)


def codes(*repairs: Repair, left: tuple[Defect, ...] = ()) -> list[str]:
    verdict = Verdict("native", left[0].code if left else None, None, "Bash", 0, 0, index=0, defects=left)
    return [defect.code for defect in with_mended(verdict, repairs).defects]


@pytest.mark.parametrize("repair", NOT_JSON)
def test_arguments_that_were_no_json_were_bad(repair: Repair) -> None:
    assert codes(repair) == ["bad_arguments"]
    assert codes(repair, "single_quotes") == ["bad_arguments"]


@pytest.mark.parametrize("repair", [one for one in get_args(Repair) if one in {*get_args(Reason), *RENAMED}])
def test_other_damage_bears_the_name_of_its_repair_or_has_one_of_its_own(repair: Repair) -> None:
    assert codes(repair) == [RENAMED.get(repair, repair)]


def test_what_is_left_follows_what_was_mended_and_is_named_once() -> None:
    left = (Defect("wrong_type", "/a"), Defect("missing_argument", "/b"))
    assert codes("no_id", "wrong_type", left=left) == ["no_id", "wrong_type", "missing_argument"]


def test_a_call_that_became_text_has_neither_id_nor_index() -> None:
    lowered = Verdict("lowered", None, None, "Bash", 0, 0)
    assert with_mended(lowered, ["no_id", "no_index"]).defects == ()
