#!/bin/sh
# Generates clients/python/memlane/v1 from the .proto files. grpcio-tools 1.66.2 is the last release whose stubs import on
# old and new runtimes alike; it needs protobuf 5, so it lives in a virtual environment of its own (.venv-proto).
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
find "$out" -name '*_pb2*' -delete
"$bin/python" -m grpc_tools.protoc -I proto --plugin="$bin/protoc-gen-mypy" --plugin="$bin/protoc-gen-mypy_grpc" \
  --python_out=clients/python --grpc_python_out=clients/python \
  --mypy_out=clients/python --mypy_grpc_out=clients/python proto/memlane/v1/*.proto
# Files without a service give an empty _pb2_grpc.py.
for stub in "$out"/*_pb2_grpc.py; do grep -q '^class ' "$stub" || rm -f "$stub" "${stub}i"; done
