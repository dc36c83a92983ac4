#!/usr/bin/env bash
# vcard4 4.0.5 and vcf 2.1.2 (npm) cut a quoted parameter of a vCard, the one at commas, the other at a colon.
#
# Expected (RFC 6350 3.3: a quoted parameter value may hold "," ":" and ";"): one label of five lines with two commas,
# and an address whose third part is the street.
# Seen: vcard4 makes a list of three labels. For vcf the value begins behind the first colon, that of "Desk:" or of "geo:1.5": the rest of
# the label is the post office box, or takes the second place too, and the street moves to the fourth place, which is the town.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent vcard4@4.0.5 vcf@2.1.2
cat >read.mjs <<'JS'
import { parse } from 'vcard4'
import vcf from 'vcf'
const address = ':;;7 Quay Road;Seaville;XY;12345;Nowhere'
const label = ';LABEL="Harbour Office, Archive\\nDesk: B 12\\n7 Quay Road\\nSeaville, XY 12345\\nNowhere"'
for (const parameters of ['', label, ';GEO="geo:1.5,2.5"' + label]) {
  const card = ['BEGIN:VCARD', 'VERSION:4.0', 'FN:Archive', 'ADR' + parameters + address, 'END:VCARD', ''].join('\r\n')
  const { value, parameters: read } = parse(card).parsedVcard.find(p => p.property === 'ADR')
  console.log('vcard4', JSON.stringify([read.LABEL ?? null, value.streetAddress]))
  console.log('vcf', JSON.stringify(vcf.parse(card)[0].toJSON()[1].find(p => p[0] === 'adr')[3].slice(0, 4)))
}
JS
seen=$(node read.mjs)
echo "$seen"
[ "$seen" = 'vcard4 [null,"7 Quay Road"]
vcf ["","","7 Quay Road","Seaville"]
vcard4 [["Harbour Office"," Archive\nDesk: B 12\n7 Quay Road\nSeaville"," XY 12345\nNowhere"],"7 Quay Road"]
vcf [" B 12\\n7 Quay Road\\nSeaville, XY 12345\\nNowhere\":","","7 Quay Road","Seaville"]
vcard4 [["Harbour Office"," Archive\nDesk: B 12\n7 Quay Road\nSeaville"," XY 12345\nNowhere"],"7 Quay Road"]
vcf ["1.5,2.5\"","LABEL=\"Harbour Office, Archive\\nDesk: B 12\\n7 Quay Road\\nSeaville, XY 12345\\nNowhere\":","","7 Quay Road"]' ] || { echo "the behaviour has changed" >&2; exit 1; }
