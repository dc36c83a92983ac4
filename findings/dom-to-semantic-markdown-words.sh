#!/usr/bin/env bash
# dom-to-semantic-markdown 1.5.0 (npm) splits words and numbers at inline elements.
#
# Expected (CSS 2.2, 9.2.2: inline boxes begin no line and add no white space): "H2O" and "unbelievable" are one word each, as browsers show them.
# Seen: "H 2 O", "un **believ** able", "super cali", "10 000": a blank on each side of every inline element, also of wbr and span. A
# search for the word finds nothing, and a number becomes two.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent dom-to-semantic-markdown@1.5.0 jsdom@26.1.0
cat >page.mjs <<'JS'
import { convertHtmlToMarkdown } from 'dom-to-semantic-markdown'
import { JSDOM } from 'jsdom'
const page = '<p>H<sub>2</sub>O un<b>believ</b>able super<wbr>cali 10<span>000</span></p>'
console.log(convertHtmlToMarkdown(page, { overrideDOMParser: new (new JSDOM().window.DOMParser)() }))
JS
seen=$(node page.mjs)
echo "$seen"
[ "$seen" = 'H 2 O un **believ** able super cali 10 000' ] || { echo "the behaviour has changed" >&2; exit 1; }
