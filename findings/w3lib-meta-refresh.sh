#!/usr/bin/env bash
# w3lib 2.1.1 (Debian 12, used by Scrapy) knows a meta refresh by "url=" only.
#
# Expected (HTML standard, shared declarative refresh steps): a comma or a blank separates the time from the address too, and "url=" may be
# left out: "0, next", "0; next" and "0 next" lead to next in browsers.
# Seen: get_meta_refresh finds the form with "; url=" and returns nothing for the others, so that the crawl ends at the page.
#
# Needs apt-get, dpkg and Python 3. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q python3-w3lib=2.1.1-1 >/dev/null 2>&1
dpkg -x python3-w3lib_*.deb .
seen=$(PYTHONPATH=usr/lib/python3/dist-packages /usr/bin/python3 -c '
from w3lib.html import get_meta_refresh
for content in ("0; url=next", "0; next", "0, next", "0 next"):
    page = "<meta http-equiv=refresh content=\"%s\">" % content
    print(content, "->", get_meta_refresh(page, "https://a.example/")[1])')
echo "$seen"
[ "$seen" = '0; url=next -> https://a.example/next
0; next -> None
0, next -> None
0 next -> None' ] || { echo "the behaviour has changed" >&2; exit 1; }
