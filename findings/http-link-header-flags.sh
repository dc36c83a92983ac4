#!/usr/bin/env bash
# http-link-header 1.1.4 (npm) loses the relation of a link if a parameter without a value stands before it, and refuses an empty element.
#
# Expected (RFC 8288 3: link-param = token BWS [ "=" BWS ( token / quoted-string ) ], so the value is optional; RFC 9110 5.6.1.2: a recipient must
# ignore a reasonable number of empty list elements): "crossorigin" is a parameter without a value, "rel" is preload, in any order.
# Seen: one parameter with the name "crossorigin; rel", and no link with the relation preload, without an error; behind "rel" the same
# parameter does no harm. ", ," between two links is an error, and none of them is read.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent http-link-header@1.1.4
cat >links.js <<'JS'
const LinkHeader = require('http-link-header')
for (const field of ['</a.css>; rel=preload; as=style; crossorigin', '</a.css>; crossorigin; rel=preload; as=style', '</1>; rel=prev, , </3>; rel=next']) {
  try {
    console.log(JSON.stringify(LinkHeader.parse(field).refs))
  } catch (error) {
    console.log(error.message)
  }
}
JS
seen=$(node links.js)
echo "$seen"
[ "$seen" = '[{"uri":"/a.css","rel":"preload","as":"style","crossorigin":""}]
[{"uri":"/a.css","crossorigin; rel":"preload","as":"style"}]
Unexpected character "," at offset 16' ] || { echo "the behaviour has changed" >&2; exit 1; }
