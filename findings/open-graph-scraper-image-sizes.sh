#!/usr/bin/env bash
# open-graph-scraper 6.12.0 (npm) gives the width, height and alternative text of an image to another image.
#
# Expected (the section on arrays of the Open Graph protocol): og:image:width, og:image:height and og:image:alt describe the og:image before
# them.
# Seen: the tags of one name are numbered by themselves, so the second height in the page is the height of the second image. A small icon
# without a size in front of a large picture takes the size and the text of the picture, without an error.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent open-graph-scraper@6.12.0
cat >read.mjs <<'JS'
import scrape from 'open-graph-scraper'
const tags = list => list.map(([name, value]) => `<meta property="og:${name}" content="${value}">`).join('')
const small = ['image', 'https://a.example/small.png']
const large = [['image', 'https://a.example/large.png'], ['image:width', 1200], ['image:height', 630], ['image:alt', 'The harbour']]
const three = [['image', 'https://a.example/first.jpg'], ['image:width', 320], ['image:height', 240], ['image', 'https://a.example/second.jpg'],
  ['image', 'https://a.example/third.jpg'], ['image:height', 900]]
for (const list of [large, [small, ...large], three]) {
  const page = `<html><head><title>Harbours</title>${tags([['title', 'Harbours'], ...list])}</head><body></body></html>`
  const { result } = await scrape({ html: page })
  console.log(result.ogImage.map(i => `${i.url.slice(18)} ${i.width ?? '-'} ${i.height ?? '-'} ${i.alt ?? '-'}`).join(', '))
}
JS
seen=$(node read.mjs)
echo "$seen"
[ "$seen" = 'large.png 1200 630 The harbour
small.png 1200 630 The harbour, large.png - - -
second.jpg - 900 -, first.jpg 320 240 -, third.jpg - - -' ] || { echo "the behaviour has changed" >&2; exit 1; }
