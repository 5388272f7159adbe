"""Native calls and replies that arrive damaged: what is wrong with them.

In goes a whole native call (its name, the text of its arguments, the request's tools), out come `Defect`s, which say
what is wrong and where, and hold no value. `defects` decides about calls, `markup` knows what belongs to models'
templates and not into names and values. What only a wire can see (ids, indices, repeated names) it tells itself, with
`Damage`. Of replies as a whole there is `reply_watch`; of errors that quote what the model wrote, `error_texts`, and as
the replies that they were meant to be, `quoted_replies`. Nothing here changes anything.
"""
