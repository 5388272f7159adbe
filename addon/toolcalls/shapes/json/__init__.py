"""Calls written as JSON. Read `marked_json` first, the form that most dialects have, then `call_reader`.

`marked_json`      an object, several or an array between marks; `unmarked_json`: in the open, or in a fence
`cohere_channels`  an array beside the channels of Cohere's models
`call_reader`      objects, lists and arrays that may be calls; what a form says about them is in `call_block`
`call_object`      one object, member by member
`call_keys`        the keys that say the tool's name and its arguments, for all forms
`strict_calls`     what complete JSON means that nothing marks as a call
`json_arguments`   the arguments of a call whose name stands elsewhere; what is broken in them
`json_values`      one JSON value that arrives
`closing`          brackets and closers behind JSON that are too many, or missing
`brokenjson`       where broken JSON ends
"""
