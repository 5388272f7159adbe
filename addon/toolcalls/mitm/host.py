"""Which mitmproxy the addon runs in. Runs in old ones too, so it needs nothing of ours and no new syntax.

Older than `OLDEST` do not guard mitmweb with a login (CVE-2025-23217) and cannot store what was streamed.
"""

import logging
import re

from mitmproxy import version

OLDEST = "12.2.2"


def is_usable() -> bool:
    """Whether this mitmproxy is new enough. If not, one line says so: an error while it starts makes mitmproxy exit."""
    usable = _numbers(version.VERSION) >= _numbers(OLDEST)
    if not usable:
        logger = logging.getLogger(__name__)
        logger.error(f"toolcalls: needs mitmproxy {OLDEST} or newer, this is {version.VERSION}")
    return usable


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])
