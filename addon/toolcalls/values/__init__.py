"""Argument values: text to JSON and back, by schema, without a loss.

In goes the text of an argument, or JSON as a model wrote it, and the tool's JSON Schema; out comes strict JSON in which
numbers, key order and white space are as they were written. `conversion` does this for whole texts. For JSON in
pieces, `json_tokenizer` knows brackets and strings, `transducer` makes strict JSON of it and lists all that it
tolerates, and `json_tokens` has the patterns of both. `toolbox` answers what the request's tools declare (`schema`),
`rawjson` takes bodies apart and keeps what nobody changes, `spans` says where a value is in a text, `call_index` finds
calls by what they mean. Read `conversion` first.
"""
