#!/usr/bin/env bash
# csv-parse 7.0.3 (npm) reads every hexadecimal cell as 0 if it converts types.
#
# Expected ("cast: true" converts to native types): "0x1F" stays a text, as papaparse 5.7.1 keeps it with dynamicTyping, or is 31.
# Seen: 0. The test takes the value of Number, 31, and the conversion that of parseFloat, which ends at the x. Checksums, addresses and error
# codes with this prefix are all 0 and equal to each other, without an error; "#1F" and "1F" stay texts.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent csv-parse@7.0.3 papaparse@5.7.1
cat >read.mjs <<'JS'
import { parse } from 'csv-parse/sync'
import Papa from 'papaparse'
const text = 'page,status,checksum,code\n1,200,0x9ae16a3b2f90404f,0x1F\n2,404,0xc3a5c85c97cb3127,1F'
console.log(JSON.stringify(parse(text, { columns: true, cast: true })))
console.log(JSON.stringify(Papa.parse(text, { header: true, dynamicTyping: true }).data))
JS
seen=$(node read.mjs)
echo "$seen"
[ "$seen" = '[{"page":1,"status":200,"checksum":0,"code":0},{"page":2,"status":404,"checksum":0,"code":"1F"}]
[{"page":1,"status":200,"checksum":"0x9ae16a3b2f90404f","code":"0x1F"},{"page":2,"status":404,"checksum":"0xc3a5c85c97cb3127","code":"1F"}]' ] || { echo "the behaviour has changed" >&2; exit 1; }
