"""Calls written with tags: names and values in elements, attributes and pairs. Read `form` first.

`form`            declares a form as data: what its tags are, and what of them may be damaged
`content`         the layout of a value: line ends, CDATA, entities, marked types
`opening_tag`     a call's or a parameter's tag with a name in it, and the repairs of it
`call_body`       the parameters of a call, one after the other
`value_end`       which closer ends a value, and the repairs of it
`call_end`        what ends a call and its block, and the repairs of it
`tag_patterns`    which kind of tag stands at a place
`entities`        entities and CDATA: what each means, how they are written, when a value is taken as escaped
`xml_elements`    an XML element's inside while it arrives, and where it ends
`xml_trees`       the same as a tree, when it is whole
`element_values`  elements in a value as JSON by the schema, and JSON as elements
`self_closing`    a call as one tag that closes itself
"""
