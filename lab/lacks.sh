#!/usr/bin/env bash
# Prints why the lab cannot be built on this machine; nothing where it can.
set -euo pipefail
target=wasm32-unknown-unknown
if ! command -v node > /dev/null || ! command -v npm > /dev/null; then
  echo "it needs Node 20.19 or newer, with npm"
elif ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'; then
  echo "it needs Node 20.19 or newer, and this is Node $(node --version)"
elif [[ -d $(rustc --print sysroot)/lib/rustlib/$target ]]; then
  :
elif ! command -v rustup > /dev/null; then
  echo "it needs Rust's target $target, which rustup installs"
elif ! rustup target add "$target" > /dev/null 2>&1; then
  echo "cannot install Rust's target $target"
fi
