"""The addon's options as mitmproxy's own list of options has them; the docs' table is made from it (`make tables`)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """One option, as `mitmproxy.addonmanager.Loader.add_option` takes it."""

    name: str
    kind: type
    default: str | bool
    help: str
    choices: tuple[str, ...] = ()


OPTIONS = (
    Option(
        "toolcalls_config", str, "", "The rules for tool calls, a YAML file. Empty: those that ship with the addon."
    ),
    Option(
        "toolcalls_metrics",
        str,
        "",
        "Where Prometheus finds counts: a port of this machine, or HOST:PORT. Empty: nowhere.",
    ),
    Option(
        "toolcalls_health",
        str,
        "",
        "Where a load balancer asks whether the proxy listens: a local port, or HOST:PORT. Empty: nowhere.",
    ),
    Option(
        "toolcalls_otel",
        str,
        "",
        "An OpenTelemetry collector that gets spans as replies end: http://HOST:4318. Empty: none.",
    ),
    Option("toolcalls_otel_content", bool, False, "Put messages, arguments and results into these spans."),
    Option(
        "toolcalls_memory",
        str,
        "",
        "A Redis in which workers share what they remember of conversations: redis://HOST:PORT/DB. Empty: none.",
    ),
    Option("toolcalls_memory_age", str, "24h", "How long that is remembered there. Understands s, m, h and d."),
    Option("toolcalls_memory_size", str, "256m", "How much of it: the oldest is deleted. Understands k, m and g."),
    Option("toolcalls_log", str, "", "A file that gets one line of JSON for each verdict. Empty: none."),
    Option("toolcalls_record", str, "", "A folder that gets the flows of LLM APIs, without secrets. Empty: none."),
    Option(
        "toolcalls_record_store",
        str,
        "",
        "Where files of the recording go when they are closed: s3://BUCKET/FOLDER. Empty: they stay in the folder.",
    ),
    Option(
        "toolcalls_record_split",
        str,
        "size",
        "What a file of the recording holds: flows until it is large or old enough, or one session of an agent.",
        ("size", "session"),
    ),
    Option(
        "toolcalls_record_file_size", str, "100m", "How large a file of the recording gets. Understands k, m and g."
    ),
    Option(
        "toolcalls_record_file_age",
        str,
        "24h",
        "How long a file of the recording is written before the next one begins. Understands s, m, h and d.",
    ),
    Option(
        "toolcalls_record_total",
        str,
        "10g",
        "How much all recordings in the folder may hold: the oldest are deleted. Understands k, m and g.",
    ),
    Option(
        "toolcalls_rejudge",
        bool,
        False,
        "Replace the verdicts of flows from a file by those of the current configuration.",
    ),
)
