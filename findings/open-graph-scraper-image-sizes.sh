#!/usr/bin/env bash
# open-graph-scraper 6.12.0 (npm) gives the width, height and alternative text of an image to another image.
#
# Expected (ogp.me, Arrays, with this very order of tags: "the first image is 300x300, the middle one has unspecified dimensions, and the last
# one is 1000px tall"): og:image:width, og:image:height and og:image:alt describe the og:image before them.
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
const rocks = [['image', 'https://a.example/rock.jpg'], ['image:width', 300], ['image:height', 300], ['image', 'https://a.example/rock2.jpg'],
  ['image', 'https://a.example/rock3.jpg'], ['image:height', 1000]]
for (const list of [large, [small, ...large], rocks]) {
  const page = `<html><head><title>Rocks</title>${tags([['title', 'Rocks'], ...list])}</head><body></body></html>`
  const { result } = await scrape({ html: page })
  console.log(result.ogImage.map(i => `${i.url.slice(18)} ${i.width ?? '-'} ${i.height ?? '-'} ${i.alt ?? '-'}`).join(', '))
}
JS
seen=$(node read.mjs)
echo "$seen"
[ "$seen" = 'large.png 1200 630 The harbour
small.png 1200 630 The harbour, large.png - - -
rock2.jpg - 1000 -, rock.jpg 300 300 -, rock3.jpg - - -' ] || { echo "the behaviour has changed" >&2; exit 1; }
