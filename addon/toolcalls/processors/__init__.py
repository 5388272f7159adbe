"""Processors: what a route may do to calls and text between what was read and what is sent.

In come the hub's events of a lane, and what the request's history holds; out come the same events, or others in their
place, with verdicts, changes and notes. Processors act the same for native and text clients, for every dialect and
wire, streamed and whole, live and replayed. In this order, which `docs/processors.md` states:

    access    rules for calls: decided by the name at once, by an argument as soon as it is final
    loops     the guard against loops: the same call, the same result, rounds of calls, a repeated passage of text
    reactors  functions of the user's own, on complete calls: `Keep`, `Drop`, `Edit`, `Say`; rules then see the result
    filters   replacements in text, and in calls only where configured
    steering  texts for the model in the place of a call that is not sent

Each of the five is one file and knows nothing of calls that wait. A call is held until it is decided and no longer, and
events after it wait after it. What passes are the same objects that came. What applies the five, each importing only
those above it:

    pending_call         one call on its way, and its state
    exchange_processors  the processors of one exchange
    reply_state          what the lanes of one reply share
    decisions            what becomes of each call of a lane
    interface, chain     what goes into a lane's processors, and what leaves, in which order
    reply                a chain for each lane of a reply
    screening            the rules once more, over all text that a text client gets
    reactor_runner       the host's side of reactors: files loaded, functions run within their time

Read `interface` first, then `chain` and `decisions`. The files of reactors import `Call`, `Keep`, `Drop`, `Edit` and
`Say` from here; what a reactor may change is in `reactors`.
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
