"""Dialects that a configuration brings along: a form of a known engine as YAML, or a dialect of an installed package.

A form is data: the name of an engine of `shapes/` with its strings, and examples of what it reads and what it must not
read. Files come in; names that carry their form (`dialects.OwnName`) go out, which a route holds like any other name.
Nothing is registered: who has no such name knows nothing of the form.

    engines      what each engine takes, from its own fields: YAML nodes → data, and data → YAML
    form_file    one file: its keys, and every mistake as a line with its place
    examples     whether a form reads its examples as they say
    installed    dialects of installed packages, by entry point
    loading      all that one reading of a configuration names
    form_text    a dialect as such a file, or why it cannot be said as one
    guesses      which forms may fit a text
    trial        whether one does
    draft        such a file from a reply

Read `form_file` first.
"""
