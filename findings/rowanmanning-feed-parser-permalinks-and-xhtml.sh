#!/usr/bin/env bash
# @rowanmanning/feed-parser 2.1.5 (npm) has no url for an RSS item that has only a permalink, and turns escaped text in XHTML content into markup.
#
# Expected (RSS 2.0: link is optional, and a guid is a permalink unless isPermaLink says false; RFC 4287 4.1.3.3: content of type xhtml keeps
# its markup): the url of the item is https://a.example/1, and "The <title> element" is a text about an element.
# Seen: the url is null, with isPermaLink="true" too. In the content &lt;title&gt; is the element <title>, which begins in the middle of the text,
# and <br/> is <br></br>, which HTML reads as two line breaks.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent @rowanmanning/feed-parser@2.1.5
cat >read.mjs <<'JS'
import { parseFeed } from '@rowanmanning/feed-parser'
const items = ['<link>https://a.example/1</link>', '<guid>https://a.example/1</guid>', '<guid isPermaLink="true">https://a.example/1</guid>']
for (const item of items) {
  const feed = `<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>Tides</title><link>https://a.example/</link><description>All.</description><item><title>x</title>${item}</item></channel></rss>`
  console.log(parseFeed(feed).items[0].url)
}
const feed = '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Tides</title><id>urn:uuid:00000000-0000-4000-8000-000000000001</id><updated>2024-05-01T10:00:00Z</updated>' +
  '<author><name>Ann</name></author><entry><title>x</title><id>urn:uuid:00000000-0000-4000-8000-000000000002</id><updated>2024-05-01T10:00:00Z</updated>' +
  '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">The <code>&lt;title&gt;</code> element<br/>names the page.</div></content></entry></feed>'
console.log(parseFeed(feed).items[0].content)
JS
seen=$(node read.mjs)
echo "$seen"
[ "$seen" = 'https://a.example/1
null
null
The <code><title></code> element<br></br>names the page.' ] || { echo "the behaviour has changed" >&2; exit 1; }
