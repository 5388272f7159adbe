"""What a request of `InvokeModel` says about the reply's reading: what one of its model's API does."""

from dataclasses import replace

from toolcalls.request import Request
from toolcalls.values import rawjson
from toolcalls.wires import all_wires
from toolcalls.wires.bedrock import completions
from toolcalls.wires.bedrock.bodies import api_of_request


def request_of(body: bytes) -> Request:
    """The request. Raises ValueError for what is none. The model is in the path."""
    if not isinstance(rawjson.loaded(body), dict):
        raise ValueError("the request body is not an object")
    api = api_of_request(body)
    if api == "completions":
        return completions.request_of(body)
    request = all_wires()[api].request(body)
    return request if api in {"anthropic", "bedrock_converse"} else replace(request, carries_calls=False)
