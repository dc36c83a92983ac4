#!/usr/bin/env bash
# robots-parser 3.0.1 (npm) does not decode escapes of unreserved characters in rules.
#
# Expected (RFC 9309 2.2.2, with this very example in its table): "Disallow: /foo/bar/%62%61%7A" and the URL /foo/bar/baz match, since
# %62, %61 and %7A are escapes of unreserved US-ASCII characters.
# Seen: the URL is allowed. The other direction, a URL with escapes and a rule without, is allowed too.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent robots-parser@3.0.1
cat >robots.js <<'JS'
const parse = require('robots-parser')
const allowed = (rule, path) => parse('https://a.example/robots.txt', `User-agent: *\nDisallow: ${rule}\n`).isAllowed('https://a.example' + path, 'bot')
console.log(allowed('/foo/bar/baz', '/foo/bar/baz'), allowed('/foo/bar/%62%61%7A', '/foo/bar/baz'), allowed('/foo/bar/baz', '/foo/bar/%62%61%7A'))
JS
seen=$(node robots.js)
echo "allowed: rule and URL plain, escapes in the rule, escapes in the URL: $seen"
[ "$seen" = "false true true" ] || { echo "the behaviour has changed" >&2; exit 1; }
