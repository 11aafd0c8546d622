#!/bin/sh
# Generates clients/python/memlane/v1 from the .proto files. grpcio-tools 1.66.2 is the last release whose stubs import
# on old and new runtimes alike; it needs protobuf 5, so it lives in a virtual environment of its own (.venv-proto).
set -eu
cd "$(dirname "$0")/.."
tools="grpcio-tools==1.66.2 protobuf==5.29.6 mypy-protobuf==3.6.0 setuptools<81"
bin=.venv-proto/bin
out=clients/python/memlane/v1
if [ "$(cat .venv-proto/tools 2>/dev/null)" != "$tools" ]; then
  "${PYTHON:-python3}" -m venv --clear .venv-proto
  # shellcheck disable=SC2086  # one word per package
  "$bin/pip" install --quiet $tools
  echo "$tools" > .venv-proto/tools
fi
# Made aside and moved into place, so that a failure or a running test never meets half a set.
new=$(mktemp -d clients/python/.generated.XXXXXX)
trap 'rm -rf "$new"' EXIT
"$bin/python" -m grpc_tools.protoc -I proto \
  --plugin="$bin/protoc-gen-mypy" --plugin="$bin/protoc-gen-mypy_grpc" \
  --python_out="$new" --grpc_python_out="$new" --mypy_out="quiet:$new" --mypy_grpc_out="quiet:$new" \
  proto/memlane/v1/*.proto
# A file without a service gives an empty _pb2_grpc.py.
for stub in "$new"/memlane/v1/*_pb2_grpc.py; do grep -q '^class ' "$stub" || rm -f "$stub" "${stub}i"; done
for old in "$out"/*_pb2*; do [ -e "$new/memlane/v1/${old##*/}" ] || rm -f "$old"; done
mv -f "$new"/memlane/v1/* "$out/"
