"""`acme_lines`: a JSON object between lines `@call` and `@end`."""

from toolcalls.shapes import About
from toolcalls.shapes.json.marked_json import MarkedJson

ABOUT = About(
    form="JSON in tags",
    written_by="ACME's models",
    source="an example",
    example='@call\n{"name": "read_file", "arguments": {"path": "src/a.ts"}}\n@end',
)

RESULT = "@result {name}\n{text}\n@end"

# A form that is data of an engine needs no package: what one brings may be any grammar (`toolcalls.shapes.Dialect`).
DIALECT = MarkedJson("acme_lines", opening=("@call",), closing=("@end",), line="\n")
