#!/usr/bin/env bash
# rss-parser 3.13.0 (npm) puts the text of XHTML content in front of its elements.
#
# Expected (RFC 4287 4.1.3.3: content of type xhtml is an XHTML div; mixed content has an order): "One and two." stays in this order.
# Seen: " and ." comes first, then the elements. A text with links, emphasis or line breaks loses its sense, without an error.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent rss-parser@3.13.0
cat >feed.js <<'JS'
const Parser = require('rss-parser')
const feed = '<feed xmlns="http://www.w3.org/2005/Atom"><title>Tides</title><id>urn:uuid:00000000-0000-4000-8000-000000000001</id><updated>2024-05-01T10:00:00Z</updated>' +
  '<author><name>Ann</name></author><entry><title>x</title><id>urn:uuid:00000000-0000-4000-8000-000000000002</id><updated>2024-05-01T10:00:00Z</updated>' +
  '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><b>One</b> and <i>two</i>.</div></content></entry></feed>'
new Parser().parseString(feed).then(f => console.log(JSON.stringify(f.items[0].contentSnippet)))
JS
seen=$(node feed.js)
echo "One and two. is read as $seen"
[ "$seen" = '"and .Onetwo"' ] || { echo "the behaviour has changed" >&2; exit 1; }
