"""The seven conditions that text must meet to be a call (`reading.policy`), in the order in which they are asked."""

from collections.abc import Mapping

from toolcalls.insight.vocabulary.entries import ConditionNumber

CONDITIONS: Mapping[ConditionNumber, str] = {
    1: "the route lifts this dialect",
    2: "the name is declared and allowed",
    3: "it begins where a call may",
    4: "it is not quoted",
    5: "it does not repeat the request",
    6: "the reply does not hold it natively",
    7: "it is complete",
}

# What a policy or a route asks beyond the seven: for people, and in the docs.
BEYOND_THEM = "the policy's and the route's own"
BEYOND_THEM_IN_DOCS = "what a policy or a route asks beyond them"
