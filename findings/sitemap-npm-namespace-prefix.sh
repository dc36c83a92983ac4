#!/usr/bin/env bash
# sitemap 9.0.1 (npm), parseSitemap: a sitemap whose namespace has a prefix has no URLs, and dates without a day are dropped.
#
# Expected (Namespaces in XML 1.0: a prefix is only a name; sitemaps.org: lastmod is a W3C date, which may be "2024-05"): one URL each,
# the second with its lastmod.
# Seen: an empty list for the first one, and a URL without lastmod for the second, both without an error; some warnings go to the console.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent sitemap@9.0.1
cat >read.mjs <<'JS'
import { Readable } from 'node:stream'
import { parseSitemap } from 'sitemap'

const space = 'http://www.sitemaps.org/schemas/sitemap/0.9'
for (const text of [
  `<s:urlset xmlns:s="${space}"><s:url><s:loc>https://a.example/1</s:loc></s:url></s:urlset>`,
  `<urlset xmlns="${space}"><url><loc>https://a.example/2</loc><lastmod>2024-05</lastmod></url></urlset>`,
]) {
  const list = await parseSitemap(Readable.from(['<?xml version="1.0" encoding="UTF-8"?>' + text]))
  console.log(JSON.stringify(list.map(u => [u.url, u.lastmod ?? null])))
}
JS
seen=$(node read.mjs 2>/dev/null | grep "^\[")
echo "$seen"
[ "$seen" = '[]
[["https://a.example/2",null]]' ] || { echo "the behaviour has changed" >&2; exit 1; }
