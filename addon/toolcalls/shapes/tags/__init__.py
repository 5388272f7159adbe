"""Calls written with tags: names and values in elements, attributes and pairs. Read `form` first.

Forms, as data:

    `form`             names in attributes or behind an equals sign
    `pair_form`        a name, then pairs of key and value; `pair_heads` is what is in front of a value
    `tool_elements`    elements named after the tool and its parameters
    `token_tags`       names in attributes, with a special token in each tag
    `lost_tags`        tags that have lost their brackets, or are of several forms

The engine under all of them:

    `call_body`        the parameters of a call, one after the other
    `value_end`        which closer ends a value, and the repairs of it
    `call_end`         what ends a call and its block, and the repairs of it
    `opening_tag`      a call's or a parameter's tag with a name in it, and the repairs of it
    `content`          the layout of a value: line ends, CDATA, entities, marked types
    `tag_patterns`     which kind of tag stands at a place

Elements that are XML, and elements in values:

    `xml_elements`     an element's inside while it arrives, and where it ends
    `xml_trees`        the same as a tree, when it is whole
    `element_values`   elements in a value as JSON by the schema, and JSON as elements
    `entities`         entities and CDATA: what each means, how they are written, when a value is taken as escaped
    `self_closing`     a call as one tag that closes itself
"""
