#!/usr/bin/env bash
# turndown 7.2.5 (npm) joins the lines of a code block whose lines end with <br>.
#
# Expected: <pre><code>one<br>two</code></pre> has two lines, as every browser shows it, and so has its Markdown.
# Seen: one line, "onetwo", in fenced and in indented blocks. Editors and highlighters write such blocks.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent turndown@7.2.5
cat >turn.js <<'JS'
const Turndown = require('turndown')
for (const style of ['fenced', 'indented']) console.log(JSON.stringify(new Turndown({ codeBlockStyle: style }).turndown('<pre><code>one<br>two</code></pre>')))
JS
seen=$(node turn.js)
echo "$seen"
[ "$seen" = '"```\nonetwo\n```"
"    onetwo"' ] || { echo "the behaviour has changed" >&2; exit 1; }
