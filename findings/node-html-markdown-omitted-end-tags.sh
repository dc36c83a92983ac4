#!/usr/bin/env bash
# node-html-markdown 2.0.0 (npm) puts all rows of a table into its first one if the end tags of cells and rows are omitted.
#
# Expected (HTML standard, 13.1.2.4: the end tags of td, th and tr may be omitted before the next one): three rows of two cells.
# Seen: one row, in which the last cell of each row shares a cell with the first one of the next: "Time Monday", "noon Tuesday". With the end
# tags, the same table has its three rows.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent node-html-markdown@2.0.0
cat >page.js <<'JS'
const { NodeHtmlMarkdown } = require('node-html-markdown')
const table = '<table><tr><th>Day</th><th>Time</th></tr><tr><td>Monday</td><td>noon</td></tr><tr><td>Tuesday</td><td>two</td></tr></table>'
for (const page of [table, table.replace(/<\/t[hdr]>/g, '')]) console.log(NodeHtmlMarkdown.translate(page).replace(/ +/g, ' ').replace(/-+/g, '-').trim() + '\n')
JS
seen=$(node page.js)
echo "$seen"
[[ $seen == *'| Monday | noon |'*'| Day | Time Monday | noon Tuesday | two |'* ]] || { echo "the behaviour has changed" >&2; exit 1; }
