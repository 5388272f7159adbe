"""The mitmproxy addon, and the only place that imports mitmproxy.

`addon` holds the hooks, `rules` the configuration, `plan` what is decided from a request, `tap` what happens to a
reply's bytes on their way, `store` what is kept of it in the flow, `views` and `journal` what people and scripts see.
"""
