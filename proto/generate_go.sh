#!/bin/sh
# Generates clients/go/memlanev1 from the .proto files. protoc is the one of grpcio-tools in .venv-proto, which
# proto/generate.sh makes; the two Go plugins are installed beside it at the versions below.
set -eu
cd "$(dirname "$0")/.."
tools="google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12 google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2"
module=github.com/memlane/memlane/clients/go
bin=.venv-proto/go-bin
out=clients/go/memlanev1
[ -x .venv-proto/bin/python ] || { echo "generate_go: no .venv-proto: run proto/generate.sh first" >&2; exit 1; }
if [ "$(cat "$bin/tools" 2>/dev/null)" != "$tools" ]; then
  mkdir -p "$bin"
  for tool in $tools; do GOBIN="$PWD/$bin" go install "$tool"; done
  echo "$tools" > "$bin/tools"
fi
# Made aside and moved into place, so that a failure or a running test never meets half a set.
mkdir -p "$out"
new=$(mktemp -d clients/go/.generated.XXXXXX)
trap 'rm -rf "$new"' EXIT
.venv-proto/bin/python -m grpc_tools.protoc -I proto \
  --plugin="$bin/protoc-gen-go" --plugin="$bin/protoc-gen-go-grpc" \
  --go_out="$new" --go_opt="module=$module" --go-grpc_out="$new" --go-grpc_opt="module=$module" \
  proto/memlane/v1/*.proto
for old in "$out"/*.pb.go; do [ -e "$new/memlanev1/${old##*/}" ] || rm -f "$old"; done
mv -f "$new"/memlanev1/* "$out/"
