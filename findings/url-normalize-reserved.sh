#!/usr/bin/env bash
# url-normalize 1.4.3 (Debian 12) decodes reserved characters: %2F in a path, %2B in a query.
#
# Expected (RFC 3986 2.2 and 6.2.2.2): only unreserved characters are decoded. /a%2Fb is one segment, ?q=1%2B1 asks for "1+1".
# Seen: /a/b, two segments, and ?q=1+1, which forms read as "1 1".
#
# Needs apt-get, dpkg and Python 3. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q python3-url-normalize=1.4.3-2 python3-six >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" .; done
seen=$(PYTHONPATH=usr/lib/python3/dist-packages /usr/bin/python3 -c '
from url_normalize import url_normalize
print(url_normalize("https://a.example/a%2Fb"), url_normalize("https://a.example/?q=1%2B1"))')
echo "/a%2Fb and ?q=1%2B1 become: $seen"
[ "$seen" = "https://a.example/a/b https://a.example/?q=1+1" ] || { echo "the behaviour has changed" >&2; exit 1; }
