#!/usr/bin/env bash
# GNU wget 1.21.3 (Debian 12) gives every revisit record of --warc-dedup the block digest of no bytes at all.
#
# Expected: WARC-Block-Digest is the digest of the record's block (WARC 1.0, 5.8), which for a revisit of wget is the head
# of the answer; records of type response have that.
# Seen: the SHA-1 of nothing (sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ), while Content-Length says that the block has bytes. A
# reader that checks digests, as the field is for, refuses all revisits of wget.
#
# Needs apt-get, dpkg and Python 3. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q wget=1.21.3-1+deb12u1 >/dev/null 2>&1
dpkg -x wget_*.deb .
mkdir site
echo '<!DOCTYPE html><title>A page</title><p>It never changes.' >site/page.html
python3 -u -m http.server 0 --bind 127.0.0.1 --directory site >server.log 2>&1 &
server=$!
until port=$(grep -oE 'port [0-9]+' server.log | cut -d' ' -f2) && [ -n "$port" ]; do sleep 0.1; done
get() { usr/bin/wget -q --no-warc-compression -O /dev/null "$@" "http://127.0.0.1:$port/page.html"; }
get --warc-file=first --warc-cdx
get --warc-file=second --warc-dedup=first.cdx
seen=$(python3 - <<'P'
import base64, hashlib
def records(name):
    data = open(name, "rb").read()
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        length = int(fields["Content-Length"])
        yield fields, rest[:length]
        data = rest[length + 4:]
for name, kind in (("first.warc", "response"), ("second.warc", "revisit")):
    for fields, block in records(name):
        if fields["WARC-Type"] == kind:
            of = lambda b: "sha1:" + base64.b32encode(hashlib.sha1(b).digest()).decode()
            digest = fields["WARC-Block-Digest"]
            print(kind, "block", len(block) > 0, "right", digest == of(block), "of nothing", digest == of(b""))
P
)
echo "$seen"
[ "$seen" = "response block True right True of nothing False
revisit block True right False of nothing True" ] || { echo "the behaviour has changed" >&2; exit 1; }
