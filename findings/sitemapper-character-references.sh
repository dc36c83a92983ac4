#!/usr/bin/env bash
# sitemapper 4.1.6 (npm) leaves numeric character references in URLs as they are written.
#
# Expected (XML 1.0 4.1: "&#38;" and "&#x26;" are the character "&", as "&amp;" is; sitemaps.org asks for escaped URLs): three times
# https://a.example/?p=1&q=2.
# Seen: only "&amp;" is decoded. The other URLs keep "&#38;" and "&#x26;", whose "#" begins a fragment: the server is asked for /?p=1&.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent sitemapper@4.1.6
cat >read.mjs <<'JS'
import http from 'node:http'
import Sitemapper from 'sitemapper'

const urls = ['&amp;', '&#38;', '&#x26;'].map(and => `<url><loc>https://a.example/?p=1${and}q=2</loc></url>`)
const text = `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls.join('')}</urlset>`
const server = http.createServer((_, answer) => answer.setHeader('Content-Type', 'application/xml').end(text))
server.listen(0, '127.0.0.1', async () => {
  const { sites } = await new Sitemapper({ url: `http://127.0.0.1:${server.address().port}/sitemap.xml` }).fetch()
  console.log(sites.join(' '))
  process.exit()
})
JS
seen=$(node read.mjs)
echo "$seen"
[ "$seen" = 'https://a.example/?p=1&q=2 https://a.example/?p=1&#38;q=2 https://a.example/?p=1&#x26;q=2' ] || { echo "the behaviour has changed" >&2; exit 1; }
