"""What each repair means: something that a reader accepted, or a writer changed, and says so in the verdict."""

from collections.abc import Mapping

from toolcalls.insight.vocabulary.entries import RepairEntry

_ENTRIES = (
    RepairEntry(
        "missing_closer",
        "the reply ended before a closing tag after the last argument",
        "the reply ended, or went on, without a closing tag after the last argument; every argument was closed",
    ),
    RepairEntry("duplicate_closer", "a closing tag was written twice"),
    RepairEntry("unclosed_tag", "a tag ended without its bracket"),
    RepairEntry("duplicate_argument", "an argument was written twice; the last one counts"),
    RepairEntry("single_quotes", "strings were in single quotes"),
    RepairEntry("backticks", "strings of its JSON were in backticks"),
    RepairEntry("doubled_braces", "objects of its JSON were in two braces each"),
    RepairEntry("raw_newline", "strings of its JSON held raw control characters"),
    RepairEntry("trailing_comma", "its JSON had a comma after the last member"),
    RepairEntry("doubled_separator", "its JSON had a comma or a colon twice"),
    RepairEntry("python_literal", "its JSON had True, False or None"),
    RepairEntry("comment", "its JSON held comments"),
    RepairEntry("bare_key", "its JSON had keys without quotes"),
    RepairEntry("invalid_escape", "strings of its JSON held escapes that JSON does not know"),
    RepairEntry("number", "its JSON had a number as +1 or .5"),
    RepairEntry("missing_opener", "the opening tag of the first argument was missing; its closing tag named it"),
    RepairEntry("wrong_closer", "another form's closing tag was in the place of its own"),
    RepairEntry(
        "stray_closer",
        "the closing tag of a wrapper that was never opened followed it",
        "the closing tag of a wrapper that was never opened, or the token that ends the model's turn, followed the "
        "call",
    ),
    RepairEntry("stray_tag", "a tag of its form stood twice, in the place of another, or where it means nothing"),
    RepairEntry("alias", "its JSON was wrapped, or a tag or key was spelt otherwise than the dialect spells it"),
    RepairEntry("inferred_name", "no tool was named, and only one has the parameters that were given"),
    RepairEntry("misplaced_name", "the tool's name was in front of the mark that begins a call"),
    RepairEntry("missing_mark", "a mark between the tool's name and the arguments was left out"),
    RepairEntry("nested_quotes", "a string held its own quotes without escapes"),
    RepairEntry("missing_quote", "a quote of a string or key was missing or misplaced, or others were there"),
    RepairEntry("unclosed_key", "the key of an argument had no closing tag"),
    RepairEntry("unopened_key", "the key of an argument had no opening tag"),
    RepairEntry("unopened_value", "a value had no opening tag"),
    RepairEntry("escaped_line_end", "a line end between its tags or values was written as a backslash and an n"),
    RepairEntry("escaped_quotes", "an object or array was escaped once more, as it would be in a string"),
    RepairEntry("lost_opener", "the token that begins a call was lost"),
    RepairEntry("surplus_bracket", "a bracket or brace too many followed its JSON"),
    RepairEntry("missing_brace", "its JSON lacked the last braces or brackets, after whole arguments"),
    RepairEntry("other_brackets", "its arguments were in other brackets"),
    RepairEntry("echoed", "the model said its calls once more as text after them, which is not shown"),
    RepairEntry("unclosed_value", "a value had no closing tag or mark of its own"),
    RepairEntry("wrapped_arguments", "its arguments were in one that the schema does not know"),
    RepairEntry("free_text", "its text was without a parameter's tag"),
    RepairEntry("nameless_argument", "an argument without a name was the only one that was missing"),
    RepairEntry("misspelt_tag", "a tag or its name attribute was misspelt"),
    RepairEntry("damaged_tag", "parts of its tags were lost, or its parameters were in another form than the call"),
    RepairEntry("entities", "a command in its JSON, or all of an object, was escaped for HTML (`&gt;`)"),
    RepairEntry(
        "value_as_text",
        "a value that was no string became text, since neither its form nor the client's prompt says types",
    ),
    RepairEntry(
        "flat_arguments",
        "arguments that the tool declares were beside its name",
        "arguments that the tool declares were beside its name, in the JSON or the tag, and are arguments now",
    ),
    RepairEntry(
        "left_out",
        "it held members that belong to no call, which are left out",
        "its JSON held members that are neither arguments of the tool nor a call's own; they are not in the arguments",
    ),
    RepairEntry(
        "name",
        "the tool's name was spelt otherwise than the request declares it",
        "the tool's name differed from the declared one by case, by a prefix such as `functions.`, or by `-`, `_` and "
        "blanks",
    ),
    # What `mend: [protocol]` changes of native calls.
    RepairEntry("no_id", "the call came without an id, and was given one"),
    RepairEntry("repeated_id", "another call, or another piece of it, had the same id"),
    RepairEntry("changed_id", "pieces of the call came with ids of their own; it has one"),
    RepairEntry("repeated_name", "its name came again with later pieces of it"),
    RepairEntry("no_index", "the call came without its index in the stream"),
    RepairEntry("shared_index", "another call came under the same index of the stream"),
    RepairEntry("empty_arguments", "no arguments came for a tool that takes none; they are an empty object"),
    RepairEntry("object_arguments", "its arguments came as an object, where the API has a string"),
    RepairEntry("string_arguments", "its arguments came as a string, where the API has an object"),
    RepairEntry("double_encoded", "its arguments were encoded twice: as a string that holds the object"),
    RepairEntry("repeated_arguments", "its whole arguments came more than once"),
    # What `mend: [types, names]` change of native calls; `json` repairs them as it does those in text.
    RepairEntry("wrong_type", "values had another type than the schema declares, and are what they can only mean"),
    RepairEntry(
        "markup_in_name",
        "a template's tokens or tags were after the tool's name",
        "a template's tokens or tags were after the tool's name, and are gone; whole arguments in them are the "
        "call's where it had no others",
    ),
    # What `mend: [reasoning]` finds.
    RepairEntry("call_in_reasoning", "it was in the reasoning of a reply that said nothing else"),
    # What `mend: [errors]` makes of an error.
    RepairEntry("call_in_error", "it was in an error that quoted it, in the place of which the client got it"),
)

# By their codes; a code of a file may be any.
REPAIRS: Mapping[str, RepairEntry] = {one.code: one for one in _ENTRIES}
