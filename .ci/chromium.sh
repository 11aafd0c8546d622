#!/usr/bin/env bash
# Debian's Chromium and a Chinese font, where a machine has none.
set -euo pipefail

if [ -n "${MEMLANE_CHROMIUM:-}" ] || { command -v chromium >/dev/null && fc-list :lang=zh | grep -q .; }; then
  exit 0
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fontconfig fonts-noto-cjk >/dev/null
