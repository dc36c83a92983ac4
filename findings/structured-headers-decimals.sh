#!/usr/bin/env bash
# structured-headers 2.1.0 (npm) writes a decimal that is rounded to a whole number as "1.", which no parser accepts.
#
# Expected (RFC 9651 4.1.5: a decimal is rounded to three digits behind the point, and a fraction of zero is written as "0"): 0.9999 is "1.0",
# 0.0001 is "0.0", as structured-field-values 2.0.4 writes them.
# Seen: "1." and "0.", which its own parser refuses (RFC 9651 4.2.4: a number that ends with a point is an error). A receiver has to ignore the
# whole field, with all other members, because of one value near a whole number, such as a share or a duration that was measured.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent structured-headers@2.1.0 structured-field-values@2.0.4
cat >write.mjs <<'JS'
import { parseDictionary, serializeDictionary } from 'structured-headers'
import { encodeItem } from 'structured-field-values'
for (const share of [0.75, 0.9999, 0.0001, 12.00049]) {
  const field = serializeDictionary({ pages: 3, share })
  let read
  try {
    read = `read again as ${parseDictionary(field).get('share')[0]}`
  } catch (error) {
    read = error.message
  }
  console.log(`${field}; ${read}; the other tool: ${encodeItem(share)}`)
}
JS
seen=$(node write.mjs)
echo "$seen"
[ "$seen" = 'pages=3, share=0.75; read again as 0.75; the other tool: 0.75
pages=3, share=1.; Parse error: Decimal cannot end on a period at offset 17; the other tool: 1.0
pages=3, share=0.; Parse error: Decimal cannot end on a period at offset 17; the other tool: 0.0
pages=3, share=12.; Parse error: Decimal cannot end on a period at offset 18; the other tool: 12.0' ] || { echo "the behaviour has changed" >&2; exit 1; }
