"""What opens and ends reasoning, and the elements whose content is shown and not meant.

To teach the reader another model's reasoning tags or another quoting element, add it here; `markdown` says where they
count.
"""

# Reasoning tags; an opener counts at the start of a line only, its closer anywhere.
REASONING_TAGS: dict[str, str] = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<seed:think>": "</seed:think>",
    "<mm:think>": "</mm:think>",
    "[THINK]": "[/THINK]",
    "<longcat_think>": "</longcat_think>",
    "<thought>": "</thought>",  # EXAONE Deep
    "<reasoning>": "</reasoning>",  # Reka Flash
    "<reflection>": "</reflection>",
    "<scratchpad>": "</scratchpad>",
    "<antThinking>": "</antThinking>",
    "<|START_THINKING|>": "<|END_THINKING|>",  # Cohere's Command models
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",  # Kimi K3
    "<|plamo:begin_think:plamo|>": "<|plamo:end_think:plamo|>",  # PLaMo 3, vLLM's `plamo3` reasoning parser
    "<|inner_prefix|>": "<|inner_suffix|>",  # Apertus, its chat template
    "<|thought_start|>": "<|thought_end|>",  # MiniCPM 3, its chat template
    "[unused16]": "[unused17]",  # openPangu, its model card
}
# What ends reasoning, also where nothing in the text began it. Apriel's template has a whole phrase for it.
REASONING_CLOSERS = (*REASONING_TAGS.values(), "[BEGIN FINAL RESPONSE]", "<channel|>")
# The end of a message (harmony, Inkling, Muse Glimmer), which ends reasoning that began in the prompt.
MESSAGE_ENDS = ("<|end|>", "<|end_message|>", "<|eom|>")
# The last character of any closer, and its last one or two: text may be cut in between.
CLOSERS_LAST = tuple({closer[-1] for closer in (*REASONING_CLOSERS, *MESSAGE_ENDS)})
CLOSER_ENDS = {closer.lower()[-size:] for closer in (*REASONING_CLOSERS, *MESSAGE_ENDS) for size in (1, 2)}
# Raw text up to the closer: HTML blocks of kind 1 in CommonMark, HTML's older elements of that kind, a whole page of
# HTML, and elements of wikis.
RAW_TAGS = (
    *("pre", "script", "style", "textarea", "xmp", "listing", "plaintext"),
    *("html", "nowiki", "syntaxhighlight"),
)
# Elements whose name says that their content is shown and not meant: prompts and models put examples and files into
# them. Models wrap real calls in `<answer>`, `<response>`, `<output>`, `<action>` and `<step>`, so those are not here.
QUOTING_TAGS = (
    *("blockquote", "q", "quote", "quotes", "quotation", "cite", "citation", "excerpt", "snippet", "transcript"),
    *("example", "examples", "sample", "samples", "demo", "template"),
    *("doc", "document", "documents", "document_content", "file_content", "file_contents"),
)
# Elements of HTML whose content is code, inside a paragraph.
CODE_TAGS = ("code", "samp", "kbd", "tt", "pre")
