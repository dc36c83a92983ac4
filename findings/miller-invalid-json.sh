#!/usr/bin/env bash
# miller 6.6.0 (Debian 12) writes JSON that is not JSON for cells such as 0xff and .5, and drops the column "url.host" if there is a column "url".
#
# Expected (RFC 8259 6: a number has decimal digits on both sides of its point and no prefix): text that JSON has no number for is a string, or another
# spelling of the number. A column of a CSV is a member of each object.
# Seen: {"color": 0xff, "share": .5}, which the json of Python and JSON.parse refuse, with exit code 0. "12e5", a checksum that looks like a number, becomes
# one, while "+49" and "007" stay strings. {"url": "b"} is all that is left of the columns "url.host" and "url".
#
# Needs apt-get, dpkg and Python 3. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q miller=6.6.0-2+b3 >/dev/null 2>&1
dpkg -x miller_*.deb .
convert() { printf "$1" | usr/bin/mlr --icsv --ojsonl cat; }
seen=$(for table in 'phone,zip\n+49,007\n' 'sum\n12e5\n' 'color\n0xff\n' 'share\n.5\n' 'mask\n0b101\n' 'url.host,url\na.example,b\n' 'url.host,url.path\na.example,b\n'; do
	json=$(convert "$table")
	echo "$json $(/usr/bin/python3 -c 'import json, sys; json.loads(sys.argv[1])' "$json" 2>/dev/null && echo valid || echo invalid)"
done)
echo "$seen"
[ "$seen" = '{"phone": "+49", "zip": "007"} valid
{"sum": 12e5} valid
{"color": 0xff} invalid
{"share": .5} invalid
{"mask": 0b101} invalid
{"url": "b"} valid
{"url": {"host": "a.example", "path": "b"}} valid' ] || { echo "the behaviour has changed" >&2; exit 1; }
