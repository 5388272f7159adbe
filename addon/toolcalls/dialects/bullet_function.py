"""`bullet_function`: function tags behind a bullet and without a closer.

    ● <function=read_file><parameter=path>src/a.ts</parameter>

Written by models that imitate the transcript of a coding agent in a terminal (StepFun's; free-claude-code converts it,
only at the very end of a reply). So the last parameter's closer counts where another call or the end of the reply
follows; a `</function>` is read as well. Without the bullet the text is `qwen3_xml`'s.
"""

from toolcalls.shapes.functiontag import FunctionTag

DIALECT = FunctionTag("bullet_function", naked=True, closed=False, strays=("●", "⏺"), between="", written="inline")
