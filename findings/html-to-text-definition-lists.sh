#!/usr/bin/env bash
# html-to-text 10.0.1 (npm) joins terms and definitions to one word.
#
# Expected (HTML standard, 15.3.3: dl, dt and dd, summary, figure and figcaption are blocks, each on lines of its own): "Noon" and "the
# ferry sails" are apart.
# Seen: "Noonthe ferry sails", "PricesTwo euros" and "A boat [boat.png]The old ferry": no line and no blank between them, with end tags and
# without a word of warning. Paragraphs and list items in the same page are apart.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent html-to-text@10.0.1
cat >page.js <<'JS'
const { convert } = require('html-to-text')
console.log(convert('<dl><dt>Noon</dt><dd>the ferry sails</dd></dl><p>x</p><details><summary>Prices</summary>Two euros</details><p>y</p>' +
  '<figure><img src="boat.png" alt="A boat"><figcaption>The old ferry</figcaption></figure>'))
JS
seen=$(node page.js)
echo "$seen"
[ "$seen" = $'Noonthe ferry sails\n\nx\n\nPricesTwo euros\n\ny\n\nA boat [boat.png]The old ferry' ] || { echo "the behaviour has changed" >&2; exit 1; }
