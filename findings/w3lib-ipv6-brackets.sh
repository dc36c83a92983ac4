#!/usr/bin/env bash
# w3lib 2.1.1 (Debian 12, used by Scrapy) takes the brackets off an IPv6 address.
#
# Expected (RFC 3986 3.2.2): safe_url_string keeps http://[2001:db8::7]:8080/a as it is; nothing in it needs an escape. canonicalize_url does.
# Seen: http://2001:db8::7:8080/a, whose port cannot be told from its address.
#
# Needs apt-get, dpkg and Python 3. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q python3-w3lib=2.1.1-1 >/dev/null 2>&1
dpkg -x python3-w3lib_*.deb .
seen=$(PYTHONPATH=usr/lib/python3/dist-packages /usr/bin/python3 -c '
from w3lib.url import canonicalize_url, safe_url_string
url = "http://[2001:db8::7]:8080/a"
print(safe_url_string(url), canonicalize_url(url))')
echo "safe_url_string and canonicalize_url of http://[2001:db8::7]:8080/a: $seen"
[ "$seen" = "http://2001:db8::7:8080/a http://[2001:db8::7]:8080/a" ] || { echo "the behaviour has changed" >&2; exit 1; }
