"""Calls written with tags: names and values in elements, attributes and pairs. Read `form` first.

`form`            declares a form as data: what its tags are, and what of them may be damaged
`content`         the layout of a value: line ends, CDATA, entities, marked types
`opening_tag`     a call's or a parameter's tag with a name in it, and the repairs of it
`call_body`       the parameters of a call, one after the other
`value_end`       which closer ends a value, and the repairs of it
`call_end`        what ends a call and its block, and the repairs of it
`tag_patterns`    which kind of tag stands at a place
"""
