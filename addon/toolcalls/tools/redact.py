"""`toolcalls redact IN OUT`: flows without secrets (`flow_redaction`), to be passed on or to become a recording.

Flows that are no HTTP are left out, since nobody here can say what is in them.
"""

from argparse import Namespace

from mitmproxy import http

from toolcalls.flows.flow_files import serialized
from toolcalls.flows.flow_redaction import redacted
from toolcalls.streams import print_error, write_summary, written
from toolcalls.tools.archive.progress import Progress


def run(arguments: Namespace) -> int:
    kept = left_out = 0
    with written(arguments.output, inputs=[arguments.file]) as file, Progress([arguments.file]) as progress:
        for _, _, flow in progress.flows():
            if isinstance(flow, http.HTTPFlow):
                file.write(serialized(redacted(flow)))
                kept += 1
            else:
                left_out += 1
    if left_out:
        print_error("toolcalls redact", f"{left_out} flows are no HTTP and were left out")
    write_summary(arguments.output, f"{kept} {'flow' if kept == 1 else 'flows'}")
    return 0
