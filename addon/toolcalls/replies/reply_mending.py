"""What mends one reply, as its route's `mend` asks for it.

Native calls are mended in their frames, errors become replies, and calls are looked for in the reasoning. Each of the
three is None where the route does not ask for it, so that nothing of it runs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from toolcalls.events import Verdict
from toolcalls.mending.mended import with_mended
from toolcalls.mending.quoted_replies import quoted_reply
from toolcalls.mending.reply_watch import MessageWatch
from toolcalls.reading.policy import CallPolicy
from toolcalls.replies.answered_errors import AnsweredErrors
from toolcalls.replies.mended_frames import FRAME_KINDS, MendedFrames, mending_of
from toolcalls.replies.stages.mend import Mend
from toolcalls.replies.stages.reasoned_calls import ReasonedCalls
from toolcalls.values.toolbox import Toolbox
from toolcalls.wires import Wire
from toolcalls.wires.mending import Mended


@dataclass(frozen=True, slots=True)
class ReplyMending:
    """What mends the parts of one reply.

    frames      the frames in which native calls are damaged
    calls       the native calls, behind the wire's decoder
    errors      the errors that quote a call
    reasoned    the calls in the reasoning of the message with this number
    """

    frames: MendedFrames | None = None
    calls: Mend[Any] | None = None
    errors: AnsweredErrors | None = None
    reasoned: Callable[[int], ReasonedCalls] | None = None

    def of_call(self, message: int, index: int) -> Mended | None:
        """What was mended of the native call that came with this index in this message."""
        mending = self.frames or self.calls
        call = None if mending is None else mending.of_call(message, index)
        if self.errors is None or self.errors.note is None:
            return call
        call = call or Mended()
        call.repaired("call_in_error")  # all of the reply's calls: it had none before
        return call

    def mark(self, message: int, judged: Callable[[int, Verdict], Verdict] | None) -> Callable[[int, Verdict], Verdict]:
        """What adds to the verdict of a native call, by its index in the message, what was mended of it.

        `judged` adds what was done to it after that, None where nothing was.
        """

        def marked(index: int, verdict: Verdict) -> Verdict:
            verdict = verdict if judged is None else judged(index, verdict)
            mended = self.of_call(message, index)
            if mended is None or not mended.all_repairs:
                return verdict
            changes = verdict.changes if mended.change is None else (mended.change, *verdict.changes)
            verdict = msgspec.structs.replace(verdict, repairs=(*mended.all_repairs, *verdict.repairs), changes=changes)
            return with_mended(verdict, mended.all_repairs, mended.defects)

        return marked


def reply_mending(
    wire: Wire,
    call_policy: CallPolicy,
    tools: Toolbox,
    *,
    streamed: bool,
    moment: tuple[int, str] | None,
    seed: Callable[[], bytes],
    built: Callable[[bytes, bytes, bool], bytes],
    message: Callable[[int], MessageWatch],
) -> ReplyMending:
    """What mends a reply of this route.

    moment      when the reply came: seconds since 1970, and the same as ISO 8601 has it; None where nobody knows
    seed        tells the exchange from others; asked for when a new id is needed
    built       a frame with this payload, like another one; the last argument: with what that says beside its payload
    message     what is known of the message with this number
    """
    kinds = set(call_policy.route.mend)
    frames = calls = errors = reasoned = None
    if kinds & FRAME_KINDS and wire.mends_stream is None and wire.answer is not None:
        may_hold = bool(kinds & (FRAME_KINDS - {"protocol"}))
        message_of = _first if wire.sequential_lanes else int
        calls = Mend[Any](
            mending_of(wire, tools, call_policy, seed),
            may_hold=may_hold,
            message_of=message_of,
        )
    elif kinds & FRAME_KINDS:
        frames = MendedFrames(wire, tools, call_policy, streamed=streamed, seed=seed, built=built)
    if "errors" in kinds:
        errors = AnsweredErrors(
            wire,
            lambda error: quoted_reply(error, call_policy, tools),
            streamed=streamed,
            seed=seed,
            built=lambda payload, like: built(payload, like, False),
            model=call_policy.request.model,
            moment=moment,
        )
    if "reasoning" in kinds and tools and call_policy.request.carries_calls:
        reasoned = _reasoned_calls(call_policy, tools, message)
    return ReplyMending(frames, calls, errors, reasoned)


def _first(_: int) -> int:
    """All lanes are parts of one message."""
    return 0


def _reasoned_calls(
    call_policy: CallPolicy, tools: Toolbox, message: Callable[[int], MessageWatch]
) -> Callable[[int], ReasonedCalls]:
    """The calls in the reasoning of each message, one object for each."""
    found: dict[int, ReasonedCalls] = {}

    def of_message(number: int) -> ReasonedCalls:
        if number not in found:
            found[number] = ReasonedCalls(message(number), call_policy, tools)
        return found[number]

    return of_message
