#!/usr/bin/env bash
# Three URL tools replace a byte of a legacy charset in a query by U+FFFD: normalize-url 9.0.1 (npm), url-normalize 1.4.3 and w3lib 2.1.1 (Debian 12).
#
# Expected: ?q=caf%E9 is a valid URL (RFC 3986 3.4), the query that browsers send from pages in windows-1252. A normal form, or another parameter that
# is removed or added, leaves its bytes alone.
# Seen: ?q=caf%EF%BF%BD, another query, in all three; there is no error. normalize-url does so once it removes a parameter (utm_source, by default),
# w3lib in add_or_replace_parameter, url-normalize always.
#
# Needs node, npm, a registry, apt-get, dpkg and Python 3. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent normalize-url@9.0.1
apt-get download -q python3-w3lib=2.1.1-1 python3-url-normalize=1.4.3-2 python3-six >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" .; done
cat >normalize.mjs <<'JS'
import normalizeUrl from 'normalize-url'
console.log(normalizeUrl('https://a.example/?q=caf%E9&utm_source=x'))
JS
seen=$(node normalize.mjs
PYTHONPATH=usr/lib/python3/dist-packages /usr/bin/python3 -c '
from url_normalize import url_normalize
from w3lib.url import add_or_replace_parameter
print(url_normalize("https://a.example/?q=caf%E9"))
print(add_or_replace_parameter("https://a.example/?q=caf%E9", "page", "2"))')
echo "$seen"
[ "$seen" = 'https://a.example/?q=caf%EF%BF%BD
https://a.example/?q=caf%EF%BF%BD
https://a.example/?q=caf%EF%BF%BD&page=2' ] || { echo "the behaviour has changed" >&2; exit 1; }
