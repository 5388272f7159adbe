"""`toolcalls …`: what the addon does to a reply, done offline, for people and for scripts.

Strategy: this file declares the command line and nothing else. What a command does is in `tools/`, in a file or a room
of its name, which is imported when the command runs: `toolcalls parse` never waits for mitmproxy.

Every error is one line, `toolcalls COMMAND: what`. Exit status: 0 done, 1 found what it looks for or was refused,
2 bad use or bad input, 130 interrupted.
"""

import argparse
import io
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from toolcalls import __version__
from toolcalls.tools.arguments import Parser, port, positive, speed

_TOOLS = "the tools that are declared: a JSON list in OpenAI form, or of {name, parameters}"
_RECORDING = "flows, HAR, or a capture of another LLM proxy; also as a URL that fsspec reads (s3://, gs://)"
_RECORDINGS = "flows, HAR, captures of other LLM proxies, folders of them, and URLs that fsspec reads (s3://, gs://)"
_POLICY = "standard, strict or lenient (default: standard)"

# The members of a --jsonl job, by command. tests/test_cli.py compares them with those that the commands read.
_JOBS = {
    "parse": """\
  text or chunks        the reply, or the list of its pieces
  chunk                 as --chunk
  request               the request's body, of Chat Completions: tools, and texts that may be quoted
  tools                 tools beside those of the request
  dialect, policy       as the options; dialect may be a list
  allowed_tools         regular expressions for the names that may be called
  finish                stop, length, content_filter or cut
  starts_in_reasoning   true where the text begins in the model's reasoning""",
    "write": """\
  calls                 a list of {name, arguments}; arguments is an object, or its JSON text
  before                the text in front of the calls, after which they must read back
  dialect, tools        as the options""",
    "rewrite": """\
  body or body_base64   the reply's body
  chunk, chunks         as --chunk; chunks is a list of sizes, in bytes
  cut                   true where the connection broke after the body
  request, tools        the request's body; tools beside those of it
  wire, client, upstream, policy, content_type, route, agent   as the options
  dialects              a list of those that are read
  allowed_tools         regular expressions for the names that may be called
  mend                  kinds of damage that are mended, as the route's: protocol, reasoning, errors; [] for none
  status                the reply's HTTP status, default 200; an error that is mended comes back with a new one""",
}
_JOB = "\n\nmembers of a --jsonl job, a JSON object (its `id` comes back with its result):\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit status. `argv` is without the program's name."""
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")
    arguments = _parser().parse_args(argv)
    name = f"toolcalls {arguments.command}"
    from toolcalls.streams import BadInput, discard_output, print_error

    try:
        return int(getattr(import_module(arguments.module), getattr(arguments, "function", "run"))(arguments))
    except BadInput as error:
        print_error(name, str(error))
        return 2
    except BrokenPipeError:
        discard_output()  # the interpreter must not write again when it flushes at exit
        return 0
    except OSError as error:
        print_error(name, str(error))
        return 2
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="toolcalls",
        description="Tool calls in the replies of language models: find them in text, write them as text.",
        epilog="`toolcalls COMMAND --help` shows an example. Start with `toolcalls demo`.",
    )
    parser.add_argument("--version", action="version", version=f"toolcalls {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, about: str, example: str, module: str | None = None) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = commands.add_parser(
            name,
            help=about,
            description=about[0].upper() + about[1:] + ".",
            epilog=f"example:\n{example}" + (_JOB + _JOBS[name] if name in _JOBS else ""),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        added.set_defaults(module=f"toolcalls.tools.{module or name.replace('-', '_')}")
        return added

    _add_start(command)
    demo = command(
        "demo",
        "play a recorded reply through a real mitmdump on this machine and show both sides",
        "  toolcalls demo",
        "demo.command",
    )
    demo.add_argument("--no-pause", action="store_true", help="play as fast as it goes")

    parse = command(
        "parse",
        "find the calls in a reply's text",
        "  toolcalls parse --tools tools.json reply.txt\n  toolcalls parse --jsonl < jobs.jsonl > results.jsonl",
        "parse.command",
    )
    _input(parse, "the reply's text")
    parse.add_argument("--dialect", default="auto", metavar="NAME", help="the dialect to read (default: auto, all)")
    parse.add_argument("--tools", metavar="FILE", help=_TOOLS)
    parse.add_argument("--policy", default="standard", metavar="NAME", help=_POLICY)
    parse.add_argument("--chunk", type=positive, metavar="N", help="feed N characters at a time, as a stream would")
    parse.add_argument(
        "--finish", choices=("stop", "length"), default="stop", help="how the reply ended (default: stop)"
    )

    write = command(
        "write",
        "write calls as text; exit status 1 when the dialect cannot hold them",
        """  echo '{"calls": [{"name": "ls", "arguments": {"path": "."}}]}' | toolcalls write --dialect invoke""",
    )
    _input(write, "the calls: a JSON list of {name, arguments}, or an object with it as `calls`, as `parse` gives it")
    write.add_argument("--dialect", metavar="NAME", help="the dialect to write; a job may name its own")
    write.add_argument("--tools", metavar="FILE", help=_TOOLS)

    rewrite = command(
        "rewrite",
        "do to a reply's body what the addon does; verdicts go to standard error, one JSON object a line",
        "  toolcalls rewrite --request request.json < reply.sse > rewritten.sse\n"
        "  toolcalls rewrite --config toolcalls.yaml --request request.json reply.sse",
        "rewrite.command",
    )
    _input(rewrite, "the reply's body")
    rewrite.add_argument("--config", metavar="FILE", help="do what this configuration says, processors too")
    rewrite.add_argument(
        "--route", metavar="NAME", help="the route to use (default: the one that it has for this API and model)"
    )
    rewrite.add_argument("--agent", metavar="TEXT", help="the client's User-Agent, for its rules")
    rewrite.add_argument("--wire", default="openai_chat", metavar="W", help="the API (default: openai_chat)")
    for side in ("client", "upstream"):
        spoken = f"what the {side} speaks: auto, native, text, or a dialect's name (default: the route's, or auto)"
        rewrite.add_argument(f"--{side}", metavar=side[0].upper(), help=spoken)
    rewrite.add_argument("--request", metavar="FILE", help="the body of the request that the reply belongs to")
    rewrite.add_argument("--policy", metavar="NAME", help=_POLICY)
    rewrite.add_argument("--content-type", metavar="TYPE", help="the body's content type (default: by its first bytes)")
    rewrite.add_argument("--chunk", type=positive, metavar="N", help="feed N bytes at a time")

    dialects = command("dialects", "list the dialects that are known", "  toolcalls dialects --json")
    dialects.add_argument("--json", action="store_true", help="as JSON")
    dialects.add_argument(
        "--yaml",
        metavar="NAME",
        help="write this one as a file that a configuration can name; exit status 1, with why, where none can say it",
    )
    dialects.add_argument("--name", metavar="NEW", help="what the file calls it (default: my_NAME)")

    dialect = command(
        "dialect",
        "make a file with a dialect of your own, which a route can name",
        "  toolcalls dialect draft reply.txt --tools tools.json -o acme.yaml\n"
        "  toolcalls dialect draft session.flow --flow 3f2a -o acme.yaml",
        "dialect",
    )
    _add_dialect(dialect)

    cases = command(
        "cases",
        "write the dialects' cases as JSON lines, to test other parsers with; or run a parser on them",
        "  toolcalls cases > cases.jsonl\n  toolcalls cases --dialect hermes --run 'toolcalls parse --jsonl'",
        "cases.command",
    )
    cases.add_argument("files", nargs="*", metavar="FILE", help="case files, YAML (default: those that ship)")
    cases.add_argument("--dialect", action="append", metavar="NAME", help="only this dialect's; may come again")
    cases.add_argument("--schema", action="store_true", help="write the JSON Schema of a line and of an answer")
    cases.add_argument(
        "--run",
        metavar="COMMAND",
        help="give each case to a parser as a line, take a line as its answer, and print by dialect how many are "
        "right; exit status 1 when one is not",
    )
    cases.add_argument("--stream", action="store_true", help="--run: `chunks` in place of `text`, in all `cuts`")
    cases.add_argument("--all", action="store_true", help="--run: also cases about what only this project decides")
    cases.add_argument(
        "--timeout", type=positive, default=10, metavar="SECONDS", help="--run: for one answer (default: 10)"
    )
    cases.add_argument("--differences", action="store_true", help="--run: a line for each case that is not right")
    cases.add_argument("--json", action="store_true", help="--run: the table as JSON")

    check = command("check-config", "validate a configuration", "  toolcalls check-config toolcalls.yaml")
    check.add_argument("file", nargs="?", metavar="FILE", help="the configuration (default: the built-in one)")
    _add_flow_commands(command)
    completion = command(
        "completion",
        "print the completion of commands and options for a shell",
        "  source <(toolcalls completion bash)                              # in ~/.bashrc\n"
        "  toolcalls completion zsh > ~/.zfunc/_toolcalls\n"
        "  toolcalls completion fish > ~/.config/fish/completions/toolcalls.fish",
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
    completion.set_defaults(parser=parser)
    return parser


def _add_start(command: Callable[..., argparse.ArgumentParser]) -> None:
    """The commands that start mitmproxy with the addon."""
    upstream = "  toolcalls {0} http://127.0.0.1:8000\n  toolcalls {0} https://api.openai.com --listen-port 9000"
    for name, tool in (("web", "mitmweb"), ("dump", "mitmdump"), ("console", "mitmproxy")):
        start = command(
            name,
            f"start {tool} with the addon: in front of UPSTREAM, else as a forward proxy, on 127.0.0.1",
            upstream.format(name),
            "start",
        )
        start.usage = f"toolcalls {name} [UPSTREAM] [{tool}'s own options]"
        start.set_defaults(rest=[])
    run = command(
        "run",
        "run an agent behind the addon, and say at its end what became of its calls",
        "  toolcalls run -- claude\n  toolcalls run --upstream http://127.0.0.1:8000 -- qwen\n"
        "  toolcalls run --web --record recordings -- codex exec 'fix the tests'\n\n"
        "The exit status is the agent's. A base URL in a variable, or --upstream, goes through a reverse proxy; all\n"
        "else goes by a forward proxy, whose certificates the agent is made to trust.",
        "run.command",
    )
    run.usage = "toolcalls run [--web] [--record DIR] [--upstream URL] [--config FILE] -- COMMAND ..."
    run.add_argument("--web", action="store_true", help="mitmweb, with the page of its calls, in place of mitmdump")
    run.add_argument("--record", metavar="DIR", help="record the exchanges in this folder, without secrets")
    run.add_argument("--upstream", metavar="URL", help="the model server (default: the agent's own)")
    run.add_argument("--config", metavar="FILE", help="the rules for tool calls (default: the built-in ones)")
    run.add_argument("command_line", nargs="+", metavar="COMMAND", help="the agent and its options, after --")
    doctor = command(
        "doctor",
        "say what is between an agent and the addon on this machine; exit status 1 when something does",
        "  toolcalls doctor\n  toolcalls doctor -- claude",
        "doctor.command",
    )
    doctor.add_argument("--port", type=port, default=8080, metavar="N", help="where a proxy may run (default: 8080)")
    doctor.add_argument("command_line", nargs="*", metavar="COMMAND", help="an agent, after --")
    command(
        "addon-path",
        "print the file for mitmproxy's -s, to start mitmproxy yourself",
        '  mitmdump -s "$(toolcalls addon-path)"',
    )


def _add_flow_commands(command: Callable[..., argparse.ArgumentParser]) -> None:
    """The commands on recorded flows."""
    config = "the configuration that flows are judged by (default: the built-in one)"
    judge = command(
        "judge",
        "read recorded flows again by today's configuration; exit status 1 when verdicts changed",
        "  toolcalls judge recordings/*.flow\n  toolcalls judge --json *.flow > before.json; "
        "toolcalls judge --baseline before.json *.flow\n"
        "  toolcalls judge --against old.yaml --config new.yaml recordings/*.flow\n"
        "  toolcalls judge --against-python ../old/.venv recordings/*.flow\n"
        "  toolcalls judge --summary --junit junit.xml --github recordings/*.flow\n"
        "  toolcalls judge --mend all recordings/*.flow\n"
        "  toolcalls judge --jobs 8 --state archive.state --parquet verdicts/ archive/",
        "judge.command",
    )
    judge.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="flows or HAR, folders of them, and URLs that fsspec reads (s3://, gs://)",
    )
    judge.add_argument("--config", metavar="FILE", help=config)
    judge.add_argument("--baseline", metavar="FILE", help="an earlier output of --json (default: the flows' own)")
    judge.add_argument(
        "--mend",
        metavar="KINDS",
        help="say what mending would have changed, by flow and in total: all, or kinds with commas in between; exit "
        "status 1 when something would have",
    )
    judge.add_argument(
        "--against",
        metavar="CONFIG",
        help="compare with what this configuration says, not with the recorded verdicts",
    )
    judge.add_argument(
        "--against-python",
        metavar="PATH",
        help="compare with what another installed version says: a Python that has toolcalls, or its venv's folder. It "
        "reads the files by itself, with --against's configuration, else with --config's",
    )
    judge.add_argument(
        "--summary", action="store_true", help="also count by dialect, model, agent, reason and kind of defect"
    )
    judge.add_argument(
        "--jobs", type=positive, metavar="N", help="processes on this machine (default: all cores, for 32 MB and more)"
    )
    judge.add_argument(
        "--state", metavar="FILE", help="write down what is done, and go on from there in a run with the same options"
    )
    judge.add_argument(
        "--parquet", metavar="FOLDER", help="also write a row for each exchange, as Parquet; a URL of fsspec, too"
    )
    judge.add_argument(
        "--engine", choices=("local", "dask"), default="local", help="who does the work (default: this machine)"
    )
    judge.add_argument(
        "--scheduler", metavar="ADDRESS", help="of Dask's scheduler (default: a cluster of --jobs processes here)"
    )
    judge.add_argument("--junit", metavar="FILE", help="also write JUnit XML: a test for each flow")
    form = judge.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as one JSON object")
    form.add_argument("--jsonl", action="store_true", help="as JSON lines: a version, each flow as it is read, the sum")
    form.add_argument("--github", action="store_true", help="as annotations of GitHub Actions")

    minimise = command(
        "minimise",
        "cut a recorded reply down to the smallest text, tools and cuts that still show its verdict, as a case",
        "  toolcalls minimise session.flow\n"
        "  toolcalls minimise session.flow --flow 3f2a --expect lifted -o hermes.yaml --issue issue.md\n"
        "  toolcalls minimise session.flow --against lenient.yaml\n\n"
        "What still shows it: one candidate (text that looks like a call) keeps its status, reason, dialect and\n"
        "repairs; with --expect also, that none has the verdict that is expected; with --against or\n"
        "--against-python, that the two still give the verdicts that differed first. Where native calls or rules\n"
        "decide, all of these become a job for `toolcalls rewrite --jsonl`.",
        "minimise.command",
    )
    minimise.add_argument("file", metavar="FILE", help=_RECORDING)
    minimise.add_argument("--flow", metavar="ID", help="the flow, by how its id begins (default: the first that fits)")
    minimise.add_argument(
        "--candidate",
        type=positive,
        metavar="N",
        help="which of the places that look like a call, from 1 (default: the first that is none)",
    )
    minimise.add_argument("--config", metavar="FILE", help=config)
    minimise.add_argument("--expect", metavar="VERDICT", help="what should come: `lifted`, `declined fenced`, `native`")
    minimise.add_argument("--against", metavar="CONFIG", help="show where this configuration gives other verdicts")
    minimise.add_argument("--against-python", metavar="PATH", help="show where another installed version does")
    minimise.add_argument("--time", type=positive, default=60, metavar="SECONDS", help="at most (default: 60)")
    minimise.add_argument("--title", metavar="TEXT", help="the case's title (default: its verdict)")
    minimise.add_argument("-o", "--output", metavar="CASE", help="write the dialect case, or the job, to this file")
    minimise.add_argument("--issue", metavar="ISSUE", help="write the paste for an issue, Markdown, to this file")

    stats = command(
        "stats",
        "count by model and server how many replies came damaged, in which way, and how many were mended",
        "  toolcalls stats recordings/*.flow\n  toolcalls stats --json *.flow > stats.json",
    )
    stats.add_argument("files", nargs="+", metavar="FILE", help=_RECORDINGS)
    stats.add_argument("--config", metavar="FILE", help=config)
    stats.add_argument("--json", action="store_true", help="as JSON")

    report = command(
        "report",
        "write sessions, their turns and a scorecard as one HTML page",
        "  toolcalls report recordings/*.flow -o report.html",
        "report.command",
    )
    report.add_argument(
        "files", nargs="+", metavar="FILE", help="flows, HAR, folders, or a journal (toolcalls_log, *.jsonl)"
    )
    report.add_argument("-o", "--output", required=True, metavar="OUT", help="the page")
    report.add_argument(
        "--jobs", type=positive, metavar="N", help="processes on this machine (default: all cores, for 32 MB and more)"
    )
    report.add_argument("--config", metavar="FILE", help=config)

    export = command(
        "export",
        "write flows for other programs, without secrets",
        "  toolcalls export --format har -o out.har *.flow\n"
        "  toolcalls export --format otel -o http://127.0.0.1:4318 *.flow",
    )
    export.add_argument("files", nargs="+", metavar="FILE", help=_RECORDINGS)
    export.add_argument("--format", required=True, choices=("jsonl", "har", "otel"), help="the format")
    export.add_argument("-o", "--output", required=True, metavar="OUT", help="the file; otel: or a collector's URL")
    export.add_argument("--content", action="store_true", help="jsonl, otel: also what people and models said")
    export.add_argument("--config", metavar="FILE", help=config)

    _add_serve(command)

    _add_record(
        command(
            "record",
            "list recordings by their indexes, show one exchange, merge and split files",
            "  toolcalls record ls recordings\n  toolcalls record ls recordings --verdict declined\n"
            "  toolcalls record show 5277acaa recordings\n"
            "  toolcalls record merge monday.flow tuesday.flow -o both.flow\n"
            "  toolcalls record split recordings --by session -o sessions",
        )
    )

    redact = command(
        "redact",
        "write flows without secrets",
        "  toolcalls redact session.flow to-share.flow",
    )
    redact.add_argument("file", metavar="IN", help=_RECORDING)
    redact.add_argument("output", metavar="OUT", help="the new file of flows")


def _add_serve(command: Callable[..., argparse.ArgumentParser]) -> None:
    serve = command(
        "serve",
        "answer requests from recordings, on 127.0.0.1 and without any real server",
        "  toolcalls serve session.flow\n  toolcalls serve --no-pace --fault 2:cut-at-event=3 recordings/*.flow",
        "serve.command",
    )
    serve.add_argument("files", nargs="+", metavar="FILE", help=_RECORDINGS)
    serve.add_argument("--port", type=port, default=0, metavar="N", help="the port (default: 0, any that is free)")
    pace = serve.add_mutually_exclusive_group()
    pace.add_argument("--speed", type=speed, default=1.0, metavar="X", help="X times as fast as recorded")
    pace.add_argument("--no-pace", action="store_true", help="wait for nothing; boundaries of pieces stay")
    serve.add_argument(
        "--side",
        choices=("upstream", "client"),
        default="upstream",
        help="answer as the upstream did (default, for an addon in front), or as the client was answered by the addon",
    )
    serve.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="[REPLY:]KIND=VALUE",
        help="spoil each reply, or that of a number: cut-at-byte=N, cut-at-event=N, delay=SECONDS, "
        "delay-at-event=N:SECONDS, repeat-event=N, bad-event=N, status=CODE; may be repeated",
    )
    serve.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="REGEX",
        help="what differs between two runs, beside dates, times and ids; may be repeated",
    )
    serve.add_argument("--verbose", action="store_true", help="say which recording answers each request")


def _add_dialect(dialect: argparse.ArgumentParser) -> None:
    """The actions of `toolcalls dialect`."""
    actions = dialect.add_subparsers(dest="action", metavar="ACTION", required=True)
    about = "write it from a reply; exit status 1 where no form fits, or a dialect of the package reads it already"
    draft = actions.add_parser("draft", help=about, description=about[0].upper() + about[1:] + ".")
    draft.add_argument(
        "file", metavar="FILE", help="the text of a reply, as the model wrote it (- for stdin), or a recording"
    )
    draft.add_argument("--flow", metavar="ID", help="the flow of a recording, by how its id begins")
    draft.add_argument("--tools", metavar="FILE", help="the request's tools in OpenAI form (default: the recording's)")
    draft.add_argument("--name", default="my_dialect", metavar="NAME", help="the dialect's name (default: my_dialect)")
    draft.add_argument("-o", "--output", metavar="OUT", help="the file to write (default: standard output)")


def _add_record(record: argparse.ArgumentParser) -> None:
    """The actions of `toolcalls record`."""
    actions = record.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, about: str, module: str) -> argparse.ArgumentParser:
        added = actions.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        added.set_defaults(module=f"toolcalls.tools.record.{module}", function=name)
        return added

    paths = "recordings, HAR, captures of other proxies, folders of them, and URLs that fsspec reads (s3://, gs://)"
    ls = action("ls", "list files, or their exchanges; exit status 1 where none is found", "listing")
    ls.add_argument("paths", nargs="+", metavar="PATH", help=paths)
    ls.add_argument("-x", "--exchanges", action="store_true", help="list exchanges (default where they are filtered)")
    for name in ("model", "agent", "session"):
        ls.add_argument(f"--{name}", metavar="TEXT", help=f"only exchanges whose {name} holds this text")
    ls.add_argument("--verdict", metavar="WORD", help="only those with a verdict of this status or reason")
    ls.add_argument("--json", action="store_true", help="a line of JSON for each")

    show = action("show", "show one exchange", "listing")
    show.add_argument("id", metavar="ID", help="its id, or the beginning of it")
    show.add_argument("paths", nargs="+", metavar="PATH", help=paths)
    show.add_argument("--body", choices=("request", "upstream", "client"), help="nothing but this body, all of it")
    show.add_argument("-o", "--output", metavar="OUT", help="write its flow to a file instead")

    merge = action("merge", "write the flows of files into one, by time, each once, with an index", "copying")
    merge.add_argument("paths", nargs="+", metavar="PATH", help=paths)
    merge.add_argument("-o", "--output", required=True, metavar="OUT", help="the new file of flows")

    split = action("split", "write the flows of files into several, each with an index", "copying")
    split.add_argument("paths", nargs="+", metavar="PATH", help=paths)
    split.add_argument("-o", "--output", required=True, metavar="FOLDER", help="the folder for the new files")
    split.add_argument(
        "--by",
        choices=("session", "model", "agent", "day", "size"),
        default="session",
        help="what a file holds (default: one session)",
    )
    split.add_argument("--size", default="100m", metavar="SIZE", help="of a file, for --by size (default: 100m)")


def _input(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help=f"{what} (default: standard input)")
    parser.add_argument("--jsonl", action="store_true", help="one job a line, one result a line")
