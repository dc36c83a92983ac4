#!/usr/bin/env bash
# warcio 2.4.11 (npm) reads a response without header fields as one without a body.
#
# Expected (RFC 9112 2.1: a message may have no field lines): the payload of "HTTP/1.1 200 OK", an empty line and "hi" is "hi".
# Seen: the status is 200 and the payload is empty, without an error; one field, whatever it is, brings the payload back. So pages of
# servers that send nothing but a status line are blank in tools that are built on it.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent warcio@2.4.11
cat >read.mjs <<'JS'
import { WARCParser } from 'warcio'

async function payload(http) {
  const record = 'WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n' +
    'WARC-Date: 2024-05-01T10:00:00Z\r\nWARC-Target-URI: https://a.example/\r\nContent-Type: application/http; msgtype=response\r\n' +
    `Content-Length: ${http.length}\r\n\r\n${http}\r\n\r\n`
  for await (const r of new WARCParser([Buffer.from(record)])) return JSON.stringify(await r.contentText())
}
console.log(await payload('HTTP/1.1 200 OK\r\n\r\nhi'), await payload('HTTP/1.1 200 OK\r\nX-Any: 1\r\n\r\nhi'))
JS
seen=$(node read.mjs)
echo "payload without a field, and with one: $seen"
[ "$seen" = '"" "hi"' ] || { echo "the behaviour has changed" >&2; exit 1; }
