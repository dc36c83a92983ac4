#!/usr/bin/env bash
# Code that contains backticks ends early in the Markdown of node-html-markdown 2.0.0 (npm, blocks) and html2text 2020.1.16 (Debian 12, inline code).
#
# Expected (CommonMark 0.31 4.5 and 6.1): the fence around a block is longer than any fence in it, the delimiters of inline code are longer
# than the backticks in it.
# Seen: three backticks around a block that shows a fence of three, so that the text of the block becomes text of the page; one backtick
# around "a `b` c", so that b is no code.
#
# Needs node, npm, a registry, apt-get, dpkg and Python 3. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent node-html-markdown@2.0.0
apt-get download -q python3-html2text=2020.1.16-2 >/dev/null 2>&1
dpkg -x python3-html2text_*.deb .
cat >turn.js <<'JS'
const { NodeHtmlMarkdown } = require('node-html-markdown')
console.log(JSON.stringify(NodeHtmlMarkdown.translate('<pre><code>```\nx\n```</code></pre>')))
JS
seen=$(node turn.js
PYTHONPATH=usr/lib/python3/dist-packages /usr/bin/python3 -c '
import html2text
print(html2text.html2text("<p><code>a `b` c</code></p>").strip())')
echo "$seen"
[ "$seen" = '"```\n```\nx\n```\n```"
`a `b` c`' ] || { echo "the behaviour has changed" >&2; exit 1; }
