#!/bin/sh
# Makes .venv-milvus in the project root: the interpreter that carries the Milvus 2.3.5 standalone server.
# A venv of its own, since the package wants old setuptools and is no dependency of memlane. Safe to repeat.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
venv="$root/.venv-milvus"
if [ -x "$venv/bin/python" ] && "$venv/bin/python" -c 'import milvus' 2>/dev/null; then
    exit 0
fi
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check 'setuptools<81' 'milvus==2.3.5'
"$venv/bin/python" -c 'import milvus'
