#!/bin/sh
# Compares the .proto files with those of the branch main: a change that breaks a client fails (buf breaking, FILE).
# main is the local branch, or origin's where there is none; with neither, or no .proto files there, nothing is compared.
set -eu
cd "$(dirname "$0")/.."
buf=.venv/bin/buf
[ -x "$buf" ] || buf=buf
for ref in refs/heads/main refs/remotes/origin/main; do
  git rev-parse --quiet --verify "$ref^{commit}" > /dev/null 2>&1 || continue
  if [ -z "$(git ls-tree -r --name-only "$ref" -- proto | grep '\.proto$')" ]; then
    echo "check_breaking: $ref has no .proto files: nothing to compare with"
    exit 0
  fi
  base=$(mktemp -d)
  trap 'rm -rf "$base"' EXIT
  git archive "$ref" proto | tar -x -C "$base"
  "$buf" breaking proto --against "$base/proto"
  echo "check_breaking: compatible with $ref"
  exit 0
done
echo "check_breaking: no branch main here: nothing to compare with"
