"""`toolcalls redact IN OUT`: flows without secrets (`flow_redaction`), to be passed on or to become a recording.

Flows that are no HTTP are left out, since nobody here can say what is in them.
"""

from argparse import Namespace

from mitmproxy import http
from mitmproxy.io import FlowWriter

from toolcalls.commands.streams import print_error
from toolcalls.mitm.flow_redaction import redacted
from toolcalls.mitm.offline.files import write_summary, written
from toolcalls.mitm.offline.progress import Progress


def run(arguments: Namespace) -> int:
    """The command. Raises BadInput."""
    kept = left_out = 0
    with written(arguments.output, inputs=[arguments.file]) as file, Progress([arguments.file]) as progress:
        writer = FlowWriter(file)
        for _, _, flow in progress.flows():
            if isinstance(flow, http.HTTPFlow):
                writer.add(redacted(flow))
                kept += 1
            else:
                left_out += 1
    if left_out:
        print_error("toolcalls redact", f"{left_out} flows are no HTTP and were left out")
    write_summary(arguments.output, f"{kept} {'flow' if kept == 1 else 'flows'}")
    return 0
