"""`toolcalls parse`: the calls in a reply's text. `command` finds them; `display` shows them on a terminal."""
