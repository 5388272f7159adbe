"""The page inside mitmweb, `/toolcalls`: sessions, their turns and the scorecard of the flows that mitmweb has.

In: mitmweb's flows, whenever a browser asks. Out: HTML, made by `insight`. Start with `state`, which keeps the sessions
up to date with the flows; `handlers` answers the browser; `addon` adds the handlers to mitmweb.
"""

from toolcalls.mitm.mitmweb import PATH as PATH
