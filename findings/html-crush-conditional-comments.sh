#!/usr/bin/env bash
# html-crush 6.3.4 (npm) with removeHTMLComments: 2 turns what a conditional comment hides into text of the page.
#
# Expected (HTML standard, 13.1.6: all between <!-- and --> is the comment): removal of comments removes what they hold. So it does for
# an ordinary comment, in the same page.
# Seen: of <!--[if lt IE 9]>...<![endif]--> only the begin and the end go. Each browser and each reader of the result shows a paragraph that
# only an old browser was meant to show. With a second <html> tag in such a comment, the page gets its classes.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent html-crush@6.3.4
cat >page.mjs <<'JS'
import { crush } from 'html-crush'
const page = '<!DOCTYPE html><html lang="en"><head><title>Ferry</title></head><body><!--[if lt IE 9]><p>Your browser is old.</p><![endif]-->' +
  '<p>The ferry sails at noon.</p><!-- <p>It sailed at ten.</p> --></body></html>'
console.log(crush(page, { removeHTMLComments: 2 }).result.replace(/.*<body>|<\/body>.*/gs, ''))
JS
seen=$(node page.mjs)
echo "the body without comments: $seen"
[ "$seen" = '<p>Your browser is old.</p><p>The ferry sails at noon.</p>' ] || { echo "the behaviour has changed" >&2; exit 1; }
