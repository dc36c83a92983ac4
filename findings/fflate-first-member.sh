#!/usr/bin/env bash
# fflate 0.8.3 (npm): gunzipSync, gunzip and decompressSync return the first member of a gzip file only.
#
# Expected (RFC 1952 2.2: a gzip file is a series of members, which appear one after another): the data of all members, or an error. So do
# node's zlib, pako 3.0.3 and the class Gunzip of fflate itself.
# Seen: "one" of a file with the members "one" and "two", without an error. A WARC file has a member for each record: all that is read of an
# archive is its warcinfo. Logs that were joined with cat end behind the first day.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent fflate@0.8.3 pako@3.0.3
cat >read.mjs <<'JS'
import zlib from 'node:zlib'
import * as fflate from 'fflate'
import * as pako from 'pako'
const file = Buffer.concat([zlib.gzipSync('one'), zlib.gzipSync('two')])
const text = bytes => Buffer.from(bytes).toString()
console.log('zlib', text(zlib.gunzipSync(file)))
console.log('pako', text(pako.ungzip(file)))
let parts = ''
new fflate.Gunzip(part => { parts += text(part) }).push(file, true)
console.log('Gunzip', parts)
console.log('gunzipSync', text(fflate.gunzipSync(file)))
console.log('decompressSync', text(fflate.decompressSync(file)))
fflate.gunzip(file, (error, data) => console.log('gunzip', error ?? text(data)))
JS
seen=$(node read.mjs)
echo "$seen"
[ "$seen" = 'zlib onetwo
pako onetwo
Gunzip onetwo
gunzipSync one
decompressSync one
gunzip one' ] || { echo "the behaviour has changed" >&2; exit 1; }
