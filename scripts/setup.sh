#!/bin/sh
# Makes .venv hold what pyproject.toml asks for, `dev` extra included. `make` runs this before every target.
#
# .venv/toolcalls-setup remembers what the set-up was made from (this folder, pyproject.toml); while that is unchanged,
# nothing happens. Uses uv when it is on PATH, else `python -m venv` and pip. Exit status 2: no Python that is new enough.
#
#   PYTHON   the Python to use (name or path); empty: the first on PATH that is new enough
set -eu
cd "$(dirname "$0")/.."

need='3.12'
venv='.venv'
stamp="$venv/toolcalls-setup"
uv=$(command -v uv) || uv=''

# Prints "VERSION PATH", whatever the Python (2.7 too); fails when this is no Python that runs. A pyenv shim of a version
# that is not selected here is such a one.
describe() {
    "$1" -c 'import sys; print("%d.%d.%d %s" % (sys.version_info[:3] + (sys.executable,)))' 2>/dev/null
}

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null
}

# Which installation it is: tells a .venv of one Python from a .venv of another.
installation() {
    "$1" -c 'import sys; print(sys.base_prefix, sys.version)' 2>/dev/null
}

refuse() {
    echo "toolcalls needs Python $need or newer ($1): install it, or run \`make PYTHON=/path/to/python$need\`" >&2
    exit 2
}

# Sets `python`; empty when none will do, and then `found` names the first one seen. Nothing is downloaded.
find_python() {
    python='' found=''
    for name in "python$need" python3.13 python3.14 python3 python; do
        # Every place on PATH, since a shim that refuses may hide a Python that works.
        rest="$PATH:"
        while [ -n "$rest" ]; do
            candidate="${rest%%:*}/$name" rest="${rest#*:}"
            [ -x "$candidate" ] && described=$(describe "$candidate") || continue
            if new_enough "$candidate"; then
                python="$candidate"
                return
            fi
            found="${found:-found ${described%% *} at ${described#* }}"
        done
    done
    if [ -n "$uv" ]; then # it may have installed one of its own
        python=$(uv python find --quiet --no-python-downloads --no-project --system ">=$need" 2>/dev/null) || python=''
    fi
}

wanted="$(pwd)
$(cksum <pyproject.toml)"
asked="${PYTHON:-}"

if [ -n "$asked" ]; then
    described=$(describe "$asked") || refuse "PYTHON=$asked is not one that runs"
    new_enough "$asked" || refuse "found ${described%% *} at ${described#* }"
fi

usable=no
if new_enough "$venv/bin/python"; then
    usable=yes
    if [ -n "$asked" ] && [ "$(installation "$asked")" != "$(installation "$venv/bin/python")" ]; then usable=no; fi
fi
if [ "$usable" = yes ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then exit 0; fi

if [ -z "$uv" ] && [ "$usable" = yes ]; then
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || usable=no # made by uv, which is no longer here
fi

# A moved folder keeps a .venv whose scripts point to where it was: made new as well.
if [ -f "$stamp" ] && [ "$(head -n 1 "$stamp")" != "$(pwd)" ]; then usable=no; fi

if [ "$usable" = no ]; then
    if [ -n "$asked" ]; then python="$asked"; else find_python; fi
    [ -n "$python" ] || refuse "${found:-found none}"
    if [ -f "$venv/pyvenv.cfg" ]; then rm -rf "$venv"; fi
    if [ -n "$uv" ]; then
        echo "set-up: making $venv (uv, $python)"
        uv venv --quiet --python "$python" "$venv"
    else
        echo "set-up: making $venv ($python)"
        "$python" -m venv "$venv" || {
            echo "set-up: $python cannot make a virtual environment; on Debian and Ubuntu, install its python3-venv package" >&2
            exit 1
        }
    fi
fi

# What an installer says of a failure is long; the line that names what could not be fetched is enough.
install() {
    if [ -n "$uv" ]; then
        uv pip install --quiet --python "$venv/bin/python" --editable '.[dev]'
    else
        "$venv/bin/python" -m pip install --quiet --quiet --no-input --disable-pip-version-check --editable '.[dev]'
    fi
}

rm -f "$stamp"
echo "set-up: installing what pyproject.toml asks for (a minute or two the first time)"
if ! said=$(install 2>&1); then
    unfetched=$(printf '%s\n' "$said" | grep -E -m 1 'Failed to (fetch|download)|No matching distribution|Could not fetch') || {
        printf '%s\n' "$said" >&2
        exit 1
    }
    echo "set-up: without a package index nothing can be installed ($(echo "$unfetched" | sed 's/^[^A-Za-z]*//')); try again with a network" >&2
    exit 1
fi
[ -z "$said" ] || printf '%s\n' "$said"
printf '%s\n' "$wanted" >"$stamp"
echo "set-up: done"
