"""Whether the writer of calls is known to escape the values between tags (`requests/escaped_values.py`)."""

import pytest

from toolcalls.request import Request, Tool
from toolcalls.requests.escaped_values import escapes_values
from toolcalls.route import Route

TOOLS = (Tool("write", {"properties": {"path": {}, "text": {}}}),)


def in_invoke(value: str) -> str:
    return f'<invoke name="write">\n<parameter name="text">{value}</parameter>\n</invoke>'


def in_tags(value: str) -> str:
    return f"<write>\n<path>a</path>\n<text>{value}</text>\n</write>"


@pytest.mark.parametrize("written", [in_invoke, in_tags])
@pytest.mark.parametrize(
    ("value", "in_prompt", "in_history"),
    [
        ("a &lt; b", True, True),
        ("Terms &amp; Conditions", True, None),  # as a model writes of a page
        ("sed 's/&lt;br&gt;//'", True, None),
        ("a &amp;&amp; b & c", None, None),  # something in it is raw
        ("a < b", None, None),
        ("a", None, None),
    ],
)
def test_what_calls_show(written: object, value: str, in_prompt: bool | None, in_history: bool | None) -> None:
    assert callable(written)
    text = f"So it goes:\n{written(value)}\nThen more &amp; more."
    assert escapes_values(Route(), Request(tools=TOOLS, system=text)) is in_prompt
    assert escapes_values(Route(), Request(tools=TOOLS, assistant=("Hi.", text))) is in_history


def test_a_page_in_the_prompt_shows_nothing() -> None:
    page = "<html><p>Terms &amp; Conditions</p><code>a &amp;&amp; b</code></html>"
    assert escapes_values(Route(), Request(tools=TOOLS, system=page, assistant=(page,))) is None


@pytest.mark.parametrize("says", [True, False])
def test_the_route_says_it(says: bool) -> None:
    shown = Request(tools=TOOLS, system=in_invoke("a &lt; b"))
    assert escapes_values(Route(escaped_values=says), shown) is says
    assert escapes_values(Route(escaped_values=says), Request()) is says
