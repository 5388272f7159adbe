"""The option `toolcalls_record`: flows of LLM APIs in files, redacted, each file with an index beside it.

In: flows as they end. Out: a folder of flow files that mitmproxy and all commands read, and an index line for each
exchange. The work is done by a second process, since redaction holds Python's lock and costs more than all else that
the addon does to a reply: `recorder` is mitmproxy's side, `process` the other one, `protocol` what they say to each
other. `folder` decides which file is written and how much is kept; the lines beside a file are `flows/flow_index`'s.
Read `recorder` first.
"""
