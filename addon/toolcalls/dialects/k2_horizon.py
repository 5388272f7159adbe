"""`k2_horizon`: K2 Horizon's form, GLM's pairs with tags of its own that may name a value's type.

    <ifm|tool_calls><ifm|tool_call>read_file<ifm|arg_key>path</ifm|arg_key><ifm|arg_type>string</ifm|arg_type>
    <ifm|arg_value>src/a.ts</ifm|arg_value></ifm|tool_call></ifm|tool_calls>

Values stand as they are; a type that says string keeps a value text where no schema says anything. The form with a
JSON body is not read. Source: the model's chat template.
"""

from toolcalls.shapes.keyvalue import KeyValue


def _pair(element: str) -> tuple[str, str]:
    return f"<ifm|{element}>", f"</ifm|{element}>"


DIALECT = KeyValue(
    "k2_horizon",
    call=_pair("tool_call"),
    key=_pair("arg_key"),
    value=_pair("arg_value"),
    wrapper=_pair("tool_calls"),
    kind=_pair("arg_type"),
)
