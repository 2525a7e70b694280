#!/usr/bin/env bash
# Chromium, and fonts that have Chinese, where apt can install them; elsewhere this says how to get one.
set -euo pipefail
if ! command -v apt-get > /dev/null; then
  echo "Install Chromium or Chrome for this system, or run: .venv/bin/playwright install chromium" >&2
  exit 1
fi
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
$sudo apt-get update --quiet
$sudo apt-get install --yes --quiet --no-install-recommends chromium fonts-noto-cjk
