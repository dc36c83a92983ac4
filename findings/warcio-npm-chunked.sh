#!/usr/bin/env bash
# warcio 2.4.11 (npm) puts the trailer fields of a chunked response behind its payload, and does not decode "Chunked".
#
# Expected (RFC 9112 7.1: a chunked body ends with trailer fields; RFC 9110 10.1.4: names of transfer codings are case-insensitive): the payload
# is "hi" in both cases.
# Seen: with a trailer field the payload is "hi" and the field, with the name Chunked the sizes of the chunks are in it.
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

async function payload(coding, end) {
  const http = `HTTP/1.1 200 OK\r\nTransfer-Encoding: ${coding}\r\n\r\n2\r\nhi\r\n0\r\n${end}\r\n`
  const record = 'WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n' +
    'WARC-Date: 2024-05-01T10:00:00Z\r\nWARC-Target-URI: https://a.example/\r\nContent-Type: application/http; msgtype=response\r\n' +
    `Content-Length: ${http.length}\r\n\r\n${http}\r\n\r\n`
  for await (const r of new WARCParser([Buffer.from(record)])) return JSON.stringify(await r.contentText(false))
}
console.log(await payload('chunked', ''), await payload('chunked', 'X-Sum: 1\r\n'), await payload('Chunked', ''))
JS
seen=$(node read.mjs)
echo "payload: plain, with a trailer field, with a capital letter: $seen"
[ "$seen" = '"hi" "hiX-Sum: 1\r\n\r\n" "2\r\nhi\r\n0\r\n\r\n"' ] || { echo "the behaviour has changed" >&2; exit 1; }
