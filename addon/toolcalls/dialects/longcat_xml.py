"""`longcat_xml`: LongCat's later form, GLM's pairs in tags of its own.

The models write an object of JSON in the same tag as well (`longcat`). Values are taken verbatim.
"""

from toolcalls.shapes import About
from toolcalls.shapes.tags.pair_form import PairForm

ABOUT = About(
    form="keys and values",
    written_by="Meituan's LongCat 2.0 and LongCat-Flash",
    source=(
        "the chat template of https://huggingface.co/meituan-longcat/LongCat-2.0, "
        "https://community.vercel.com/t/parsing-custom-xml-tool-calls-from-longcat-flash-models-in-vercel-ai-sdk/33601"
    ),
    example="""\
<longcat_tool_call>read_file
<longcat_arg_key>path</longcat_arg_key>
<longcat_arg_value>src/a.ts</longcat_arg_value>
</longcat_tool_call>""",
)

DIALECT = PairForm("longcat_xml", call="longcat_tool_call", key="longcat_arg_key", value="longcat_arg_value", line="\n")

RESULT = "<longcat_tool_response>{text}</longcat_tool_response>"
