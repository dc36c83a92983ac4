#!/usr/bin/env bash
# http-cache-semantics 4.3.0 (npm) does not know directives in capitals.
#
# Expected (RFC 9111 5.2: names of cache directives are case-insensitive): "Max-Age=60" is fresh for a minute, "No-Store" is not stored.
# Seen: Max-Age gives a lifetime of 0, and No-Store is storable. The names are compared as they are written.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent http-cache-semantics@4.3.0
cat >policy.js <<'JS'
const CachePolicy = require('http-cache-semantics')
const policy = control => new CachePolicy({ method: 'GET', url: '/', headers: {} }, { status: 200, headers: { 'cache-control': control } })
console.log(policy('max-age=60').maxAge(), policy('Max-Age=60').maxAge(), policy('no-store').storable(), policy('No-Store').storable())
JS
seen=$(node policy.js)
echo "max-age=60, Max-Age=60: lifetime; no-store, No-Store: storable: $seen"
[ "$seen" = "60 0 false true" ] || { echo "the behaviour has changed" >&2; exit 1; }
