#!/usr/bin/env bash
# dateparser 1.1.6 (Debian 12, used by Scrapy projects) reads Thai dates 543 years too late.
#
# Expected: Thai pages count years of the Buddhist era; "1 พฤษภาคม 2567" is 1 May 2024 (CLDR: the calendar of th-TH is buddhist).
# Seen: 1 May 2567, without an error, though the language is given.
#
# Needs apt-get, dpkg and Python 3. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q python3-dateparser=1.1.6-1 python3-dateutil python3-regex python3-tz python3-tzlocal python3-pytz-deprecation-shim python3-six >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" .; done
seen=$(PYTHONPATH=usr/lib/python3/dist-packages /usr/bin/python3 -W ignore -c '
import dateparser
print(dateparser.parse("1 พฤษภาคม 2567", languages=["th"]).date())')
echo "1 พฤษภาคม 2567 is: $seen"
[ "$seen" = "2567-05-01" ] || { echo "the behaviour has changed" >&2; exit 1; }
