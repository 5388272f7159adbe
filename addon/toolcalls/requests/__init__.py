"""A request to a model: what it says about its reply, and what becomes of it before it is sent.

In comes the body of a request, with the route that it takes. Out come a `Decision` (what is done to the reply, and the
evidence for it), the processors of the exchange, and, where the route rewrites requests, another body with notes of
what was changed. Read `turns/__init__.py` first: everything else works on its `Conversation`.

    turns         a request body as a conversation and back, one file for each API
    stop_texts    texts at which generation stops
    prompt_tools  the tools that a system prompt declares in prose
    evidence      which side speaks native calls and which text, and why
    rewriting     the conversation in the form that the upstream speaks
    call_memory   lifted calls and tools of conversations that the server keeps
    processing    the history for the loop guard; tools that rules block, and texts of steering, in the request
"""
