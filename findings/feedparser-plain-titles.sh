#!/usr/bin/env bash
# feedparser 2.6.0 (npm) cuts the names of HTML elements out of the plain text of an Atom title.
#
# Expected (RFC 4287 3.1.1.1: a title of type text, which is the default, has no markup; what looks like a tag is text): the title is
# "Why <dialog> beats <div> in Vec<T>".
# Seen: "Why  beats  in Vec<T>", with and without type="text": each name of an element in angle brackets is removed as if it were a tag, others
# stay. Titles about HTML lose the words that matter, without an error.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent feedparser@2.6.0
cat >feed.js <<'JS'
const FeedParser = require('feedparser')
const { Readable } = require('stream')
const entry = (n, type) => `<entry><title${type}>Why &lt;dialog&gt; beats &lt;div&gt; in Vec&lt;T&gt;</title><id>urn:uuid:00000000-0000-4000-8000-00000000000${n}</id>` +
  `<updated>2024-05-01T10:00:00Z</updated><link href="http://a.example/${n}"/></entry>`
const feed = '<feed xmlns="http://www.w3.org/2005/Atom"><title>Code</title><id>urn:uuid:00000000-0000-4000-8000-000000000009</id>' +
  '<updated>2024-05-01T10:00:00Z</updated><author><name>Ann</name></author>' + entry(1, ' type="text"') + entry(2, '') + '</feed>'
const parser = new FeedParser({ feedurl: 'http://a.example/feed.xml' })
const titles = []
parser.on('readable', function () { for (let i; (i = this.read());) titles.push(i.title) })
parser.on('end', () => console.log(JSON.stringify(titles)))
Readable.from([feed]).pipe(parser)
JS
seen=$(node feed.js)
echo "titles: $seen"
[ "$seen" = '["Why  beats  in Vec<T>","Why  beats  in Vec<T>"]' ] || { echo "the behaviour has changed" >&2; exit 1; }
