#!/usr/bin/env bash
# microdata-node 2.0.0 (npm) has an empty value for <time> without a datetime attribute.
#
# Expected (HTML standard, 4.5.14 and 5.2.4: without the attribute, the datetime value of time is its text): <time itemprop="datePublished">2024-05-01</time>
# is 2024-05-01.
# Seen: "". With the attribute, or with the same text in a span, the date is there. Pages that mark dates the short way have no date, without
# an error.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent microdata-node@2.0.0
cat >read.js <<'JS'
const { toJson } = require('microdata-node')
for (const date of ['<time itemprop="datePublished">2024-05-01</time>', '<time itemprop="datePublished" datetime="2024-05-01">1 May</time>', '<span itemprop="datePublished">2024-05-01</span>']) {
  const page = `<article itemscope itemtype="https://schema.org/Article">${date}</article>`
  console.log(JSON.stringify(toJson(page).items[0].properties))
}
JS
seen=$(node read.js)
echo "$seen"
[ "$seen" = '{"datePublished":[""]}
{"datePublished":["2024-05-01"]}
{"datePublished":["2024-05-01"]}' ] || { echo "the behaviour has changed" >&2; exit 1; }
