"""`toolcalls run` and `toolcalls doctor`: real processes on loopback, with a Python program as the agent."""

import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.loopback import LIMIT, Reply, Upstream, asked, streamed, upstream
from support.repository import REPO

TEXT = '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>'

# Asks once at the URL in a variable, prints the names of the calls that came, and whether it has a terminal.
AGENT = """
import json, os, sys, urllib.request
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
asked = urllib.request.Request(url, sys.argv[1].encode(), {"content-type": "application/json"})
with urllib.request.urlopen(asked, timeout=180) as reply:
    events = [json.loads(line[6:]) for line in reply.read().decode().splitlines() if line.startswith("data: {")]
calls = [call for event in events for call in event["choices"][0]["delta"].get("tool_calls", ())]
print("calls:", [call["function"]["name"] for call in calls if call["function"].get("name")])
print("terminal:", sys.stdout.isatty())
sys.exit(7)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's home: mitmproxy's authority lies there, which is slow to make."""
    made = tmp_path_factory.mktemp("home")
    (made / "left").mkdir()
    return made


def environment(home: Path, **more: str) -> dict[str, str]:
    """That of a user, without proxies or base URLs; temporary files go to `left`."""
    names = {"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE"}
    kept = {name: value for name, value in os.environ.items() if name not in names and not name.endswith("_BASE_URL")}
    own = {"HOME": str(home), "PYTHONPATH": str(REPO / "addon"), "TMPDIR": str(home / "left")}
    return kept | own | more


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "toolcalls", *words]


def run(home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A run that leaves no file after."""
    done = subprocess.run(
        command("run", *words),
        capture_output=True,
        text=True,
        env=environment(home, **more),
        timeout=LIMIT,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert list((home / "left").iterdir()) == []
    return done


def agent() -> tuple[str, ...]:
    return (sys.executable, "-c", AGENT, asked().decode())


def test_an_agent_with_a_base_url(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    with upstream(Reply(streamed(TEXT))) as server:
        done = run(home, "--record", str(folder), "--", *agent(), OPENAI_BASE_URL=f"{server.url}/v1")
    assert done.returncode == 7
    assert done.stdout == "calls: ['Bash']\nterminal: False\n"
    assert "toolcalls run: 1 reply; calls: 1 lifted\n" in done.stderr
    assert f"toolcalls report {folder} -o report.html" in done.stderr
    assert len(list(folder.glob("*.flow"))) == 1


def test_an_agent_behind_a_forward_proxy_trusts_it(home: Path) -> None:
    """Over TLS, to a host that mitmproxy's own settings lead to the upstream; the certificates are those of the run."""
    with upstream(Reply(streamed(f"```\n{TEXT}\n```"))) as server:
        (home / ".mitmproxy").mkdir(exist_ok=True)
        settings = home / ".mitmproxy" / "config.yaml"
        mapped = f"connection_strategy: lazy\nupstream_cert: false\nmap_remote: ['@https://models.test@{server.url}']\n"
        settings.write_text(mapped, encoding="utf-8")
        try:
            script = AGENT.replace('os.environ["OPENAI_BASE_URL"]', '"https://models.test/v1"')
            done = run(home, "--", sys.executable, "-c", script, asked().decode(), NO_PROXY="models.test")
        finally:
            settings.unlink()
    assert done.stdout.startswith("calls: []\n"), done.stderr
    assert "toolcalls run: 1 reply; calls: 1 possibly lost\n" in done.stderr
    assert "toolcalls run: 1 possibly lost: fenced: it is in a fenced code block; it is accepted if " in done.stderr


GO = """package main

import ("fmt"; "io"; "net/http"; "os"; "strings")

func main() {
	reply, err := http.Post(os.Args[1], "application/json", strings.NewReader(os.Args[2]))
	if err != nil { fmt.Println("error:", err); os.Exit(1) }
	body, _ := io.ReadAll(reply.Body)
	fmt.Println(strings.Contains(string(body), "tool_calls"), strings.Contains(string(body), "<invoke"))
}
"""


@pytest.mark.skipif(shutil.which("go") is None, reason="there is no go")
def test_a_go_program_behind_a_forward_proxy_trusts_it(home: Path, tmp_path: Path) -> None:
    """Its call is lifted, and no base URL was set: Go's library reads `HTTPS_PROXY` and `SSL_CERT_FILE`."""
    (tmp_path / "main.go").write_text(GO, encoding="utf-8")
    building = os.environ | {"GO111MODULE": "off", "GOCACHE": str(tmp_path / "cache"), "GOFLAGS": ""}
    client = tmp_path / "client"
    subprocess.run(["go", "build", "-o", client, "main.go"], cwd=tmp_path, env=building, check=True, timeout=LIMIT * 5)
    with upstream(Reply(streamed(TEXT, 400))) as server:
        (home / ".mitmproxy").mkdir(exist_ok=True)
        settings = home / ".mitmproxy" / "config.yaml"
        mapped = f"connection_strategy: lazy\nupstream_cert: false\nmap_remote: ['@https://models.test@{server.url}']\n"
        settings.write_text(mapped, encoding="utf-8")
        try:
            done = run(home, "--", str(client), "https://models.test/v1/chat/completions", asked().decode())
        finally:
            settings.unlink()
    assert done.stdout == "true false\n", done.stderr
    assert "toolcalls run: 1 reply; calls: 1 lifted\n" in done.stderr


def test_what_never_asks(home: Path) -> None:
    done = run(home, "--", sys.executable, "-c", "print('hello')")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "no request of an LLM API came through; `toolcalls doctor -- " in done.stderr


def test_a_model_server_that_is_not_there(home: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        done = run(home, "--", *agent(), OPENAI_BASE_URL=url)
    assert done.returncode == 1
    assert "toolcalls run: the model server cannot be reached: " in done.stderr
    assert "no request" not in done.stderr


def test_a_command_that_is_not_there(home: Path) -> None:
    done = run(home, "--", "no-such-agent")
    assert done.returncode == 127
    assert "toolcalls run: no-such-agent: there is no such command\n" in done.stderr


def test_a_configuration_with_a_mistake_is_one_line(home: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("routes: 1\n", encoding="utf-8")
    done = run(home, "--config", str(wrong), "--", "true")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"toolcalls run: mitmproxy did not start: {wrong}")


@pytest.mark.parametrize(
    ("sent", "status", "caught"), [(signal.SIGTERM, 143, False), (signal.SIGTERM, 3, True)], ids=["dies", "catches"]
)
def test_signals_are_the_agents(sent: signal.Signals, status: int, caught: bool, home: Path) -> None:
    program = "import signal, sys, time\n"
    program += "signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))\n" if caught else ""
    program += "print('ready', flush=True)\ntime.sleep(600)"
    with subprocess.Popen(
        command("run", "--", sys.executable, "-c", program),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(home),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(sent)
        _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == status
    assert "Traceback" not in errors
    assert list((home / "left").iterdir()) == []


def test_the_terminal_is_the_agents(home: Path) -> None:
    """Ctrl-C reaches the agent, which may go on; mitmproxy outlives it."""
    with upstream(Reply(streamed(TEXT))) as server:
        held = "import signal, time\ncaught = []\nsignal.signal(signal.SIGINT, lambda *_: caught.append('caught'))\n"
        held += "print('ready', flush=True)\nwhile not caught: time.sleep(0.02)\nprint(*caught)\n"
        words = command("run", "--", sys.executable, "-c", held + AGENT, asked().decode())
        given = environment(home, OPENAI_BASE_URL=f"{server.url}/v1")
        pid, master = pty.fork()
        if not pid:
            os.execve(words[0], words, given)
        shown = ""
        while "ready" not in shown:
            shown += os.read(master, 4096).decode()
        os.write(master, b"\x03")
        while True:
            try:
                data = os.read(master, 4096)
            except OSError:  # Linux: the other side is closed
                break
            if not data:
                break
            shown += data.decode()
        _, status = os.waitpid(pid, 0)
        os.close(master)
    assert os.waitstatus_to_exitcode(status) == 7, shown
    assert "caught" in shown
    assert "calls: ['Bash']" in shown
    assert "terminal: True" in shown
    assert "1 reply; calls: 1 lifted" in shown


def test_the_page_of_a_run(home: Path) -> None:
    """Its address is printed, and opens without a login, before the agent ends."""
    look = "import re, sys, urllib.request; print(b'Tool calls' in urllib.request.urlopen(sys.argv[1]).read())"
    program = (
        "import pathlib, subprocess, sys, time\n"
        f"told = pathlib.Path({str(home / 'told')!r})\n"
        "url = next(word for word in told.read_text().split() if word.startswith('http'))\n"
        f"sys.exit(subprocess.call([sys.executable, '-c', {look!r}, url]))\n"
    )
    with (home / "told").open("w") as told:
        done = subprocess.run(
            command("run", "--web", "--", sys.executable, "-c", program),
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
            env=environment(home, NO_PROXY="127.0.0.1"),
            timeout=LIMIT,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    said = (home / "told").read_text()
    assert (done.returncode, done.stdout) == (0, "True\n"), said
    assert re.search(r"the page with its calls: http://127\.0\.0\.1:\d+/toolcalls\?token=\w+", said)


def doctor(home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command("doctor", *words),
        capture_output=True,
        text=True,
        env=environment(home, **more),
        timeout=LIMIT,
        check=False,
    )


def test_doctor_says_what_is_in_the_way(home: Path) -> None:
    done = doctor(
        home, "--port", "9", "--", "no-such-agent", HTTPS_PROXY="http://me:secret@127.0.0.1:9", NO_PROXY="example.com",
        ANTHROPIC_BASE_URL="http://127.0.0.1:9",
    )  # fmt: skip
    lines = done.stdout.splitlines()
    wrong = [line for line in lines if line.startswith("!!")]
    assert done.returncode == 1
    assert any("HTTPS_PROXY is 127.0.0.1:9, where nothing listens" in line for line in wrong)
    assert any("NO_PROXY is example.com" in line for line in wrong)
    assert any("ANTHROPIC_BASE_URL is http://127.0.0.1:9, where nothing listens" in line for line in wrong)
    assert any("no-such-agent: there is no such command" in line for line in wrong)
    assert lines[-1].startswith("ok  a text call came back as a native one through a proxy that was started for it")
    assert "secret" not in done.stdout + done.stderr


@pytest.mark.parametrize("addon", [True, False], ids=["addon", "plain"])
def test_doctor_tries_a_proxy_that_runs(addon: bool, home: Path) -> None:
    main = f"from mitmproxy.tools.main import mitmdump; mitmdump({['-p', '0', '--listen-host', '127.0.0.1']})"
    start = command("dump", "-p", "0") if addon else [sys.executable, "-c", main]
    given = environment(home, PYTHONUNBUFFERED="1")
    with subprocess.Popen(start, stdout=subprocess.PIPE, text=True, env=given) as proxy:
        try:
            assert proxy.stdout is not None
            line = next(line for line in proxy.stdout if "proxy listening at" in line)
            port = line.strip().rstrip(".").rpartition(":")[2]
            done = doctor(home, "--port", port)
        finally:
            proxy.terminate()
            proxy.communicate(timeout=LIMIT)
    if addon:
        assert f"ok  a text call came back as a native one through the proxy at 127.0.0.1:{port}" in done.stdout
        assert done.returncode == 0, done.stdout
    else:
        assert f"!!  the proxy at 127.0.0.1:{port} runs without the addon" in done.stdout
        assert done.returncode == 1


def test_doctor_sends_no_call_to_what_is_no_forward_proxy(home: Path) -> None:
    """A model server at that port gets a GET, and nothing else."""
    with upstream(Reply([b"no"], status=404)) as server:
        assert isinstance(server, Upstream)
        done = doctor(home, "--port", server.url.rpartition(":")[2])
        assert [one.line.split()[0] for one in server.asked] == ["GET"]
    assert "that is no forward proxy" in done.stdout
    assert done.returncode == 0, done.stdout
