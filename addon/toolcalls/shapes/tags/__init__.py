"""Calls written with tags: elements, attributes, keys and values between tags.

`closing_tags` decides which closer ends a value and names its repairs. `attributed`, `functiontag`, `tagnamed`,
`keyvalue` and `tokentag` are the forms.
"""
