#!/usr/bin/env bash
# podcast-partytime 5.0.0 (npm) has no title for an episode whose title is a number, skips it if it has no description, and shortens its guid.
#
# Expected (RSS 2.0: title and guid are strings, and an item needs a title or a description): "1984" and "007" are titles, the guids 0012 and 12
# are two strings.
# Seen: the text of an element becomes a number where it looks like one. A number is no title, so the item has none, and without a description
# it is missing from the list. The guid 0012 is 12, like that of the next episode. A channel keeps the title 1984.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent podcast-partytime@5.0.0
cat >read.mjs <<'JS'
import { parseFeed } from 'podcast-partytime'
const item = (title, guid, more) => `<item><title>${title}</title><guid isPermaLink="false">${guid}</guid><pubDate>Wed, 01 May 2024 10:00:00 GMT</pubDate>` +
  `<enclosure url="https://a.example/${guid}.mp3" length="5" type="audio/mpeg"/>${more}</item>`
const about = '<description>A talk.</description>'
const feed = '<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>1984</title><link>https://a.example/</link><description>Books.</description>' +
  item('Emma', '0012', about) + item('1984', '12', about) + item('007', 'bond', about) + item('Walden', 'w', '') + item('2666', 'b', '') + '</channel></rss>'
const { title, items } = parseFeed(feed)
console.log(JSON.stringify([title, ...items.map(i => [i.guid, i.title ?? null])]))
JS
seen=$(node read.mjs | tail -n 1)
echo "$seen"
[ "$seen" = '["1984",["12","Emma"],["12",null],["bond",null],["w","Walden"]]' ] || { echo "the behaviour has changed" >&2; exit 1; }
