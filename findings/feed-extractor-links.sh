#!/usr/bin/env bash
# @extractus/feed-extractor 8.0.3 (npm) takes the first link of an Atom entry for its page, whatever its relation is, and decodes titles twice.
#
# Expected (RFC 4287 4.1.2, 4.2.7: an entry may have an enclosure next to its alternate link, in any order; 3.1.1.1: type="text" is the text itself): the link is
# https://a.example/1, and the title "1 &lt;2" stays as it is written.
# Seen: an enclosure (or a self link, or a translation) before the alternate link becomes the address of the entry; the title becomes "1 <2".
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @extractus/feed-extractor@8.0.3
cat >feed.mjs <<'JS'
import { extractFromXml } from '@extractus/feed-extractor'

const alternate = '<link rel="alternate" href="https://a.example/1"/>'
const enclosure = '<link rel="enclosure" type="audio/mpeg" length="5" href="https://a.example/1.mp3"/>'
const feed = links => '<feed xmlns="http://www.w3.org/2005/Atom"><title>Tides</title><id>urn:uuid:00000000-0000-4000-8000-000000000001</id><updated>2024-05-01T10:00:00Z</updated>' +
  `<author><name>Ann</name></author><entry><title type="text">1 &amp;lt;2</title><id>urn:uuid:00000000-0000-4000-8000-000000000002</id><updated>2024-05-01T10:00:00Z</updated>${links}<summary>x</summary></entry></feed>`
for (const links of [alternate, enclosure + alternate]) {
  const [entry] = extractFromXml(feed(links)).entries
  console.log(JSON.stringify([entry.link, entry.title]))
}
JS
seen=$(node feed.mjs)
echo "$seen"
[ "$seen" = '["https://a.example/1","1 <2"]
["https://a.example/1.mp3","1 <2"]' ] || { echo "the behaviour has changed" >&2; exit 1; }
