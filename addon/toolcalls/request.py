"""What a reply's reading needs to know of its request: the tools, the choice, and the texts that may be quoted.

Filled by a wire from a request body, by the command line from a file, or by hand in a test; plain frozen data.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call. `schema` is the JSON Schema of its argument object ({} when it declares none).

    `form` is the wire's own word for calls of it where it is no function (`CallStart.form`), `space` the namespace that
    it is declared in, "" for none.
    """

    name: str
    schema: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    form: str = ""
    space: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a model, as far as it matters here.

    `system` is the text of all system and developer messages, `assistant` the texts of the model's earlier turns,
    `quotable` the texts of user messages and tool results (of the provider's own tools, too): what an echo (condition
    5) may repeat. `response_format` says that the reply shall be JSON of the client's own making (structured output),
    so that JSON in it is no call.
    `carries_calls` is False where the API has no place for calls, so that its replies can only be observed.

    `prefill` are the texts of the last message where that is the assistant's own: the reply goes on after them.

    `conversation_tools` are those of the tools that the conversation itself declares, so that a server which keeps the
    conversation keeps them. `continues` is the id of a kept conversation, or of its latest reply; "" for none.

    `session` is the id that the body gives to the session of its agent, "" for none.
    """

    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    model: str = ""
    system: str = ""
    assistant: tuple[str, ...] = ()
    quotable: tuple[str, ...] = ()
    prefill: tuple[str, ...] = ()
    response_format: bool = False
    carries_calls: bool = True
    conversation_tools: tuple[Tool, ...] = ()
    continues: str = ""
    session: str = ""

    @property
    def names_tool(self) -> bool:
        """Whether the choice among the tools names one."""
        return self.tool_choice not in {"auto", "none", "required", ""}
