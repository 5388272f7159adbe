"""Processors: what may happen to calls and to text between what was read and what leaves.

They work on the hub's events inside a lane, so they act the same for native and text clients, for every dialect and
wire, streamed and whole, live and replayed. In this order, which `docs/processors.md` states:

    access    rules for calls: decided by name at once, by an argument as soon as it is final
    loops     the guard against loops: the same call, the same result, rounds, a passage of text
    reactors  functions of the user's own, on complete calls; what they changed goes through the rules once more
    filters   replacements in text, and in calls only where asked
    steering  the text in the place of a call that does not leave

A call is held until its fate is known and no longer, and what comes behind it waits behind it. Each call's own look
goes on while it waits, so nothing is looked at twice. Text and calls that pass are the same objects that came.

Each of the five has its module, and knows nothing of calls that wait. What applies them, each importing only the ones
above it:

    held        one call on its way
    shared      what the replies of one exchange have in common, and what the lanes of one reply do
    fates       what becomes of a lane's calls
    processing  what goes into a lane's processors, and what leaves
    chain       what leaves a lane, and in which order
    reply       a chain for each lane of a reply

This is also what the files of reactors import: `Call`, and `Keep`, `Drop`, `Edit`, `Say`.
"""

from toolcalls.processors.chain import Chain
from toolcalls.processors.exchange_processors import Processors
from toolcalls.processors.interface import Left, Processing
from toolcalls.processors.loops import EarlierCall, LoopWatch
from toolcalls.processors.reactors import Answer, Call, Drop, Edit, Keep, Say, unavailable
from toolcalls.processors.reply import Reply

__all__ = [
    "Answer",
    "Call",
    "Chain",
    "Drop",
    "EarlierCall",
    "Edit",
    "Keep",
    "Left",
    "LoopWatch",
    "Processing",
    "Processors",
    "Reply",
    "Say",
    "unavailable",
]  # fmt: skip
