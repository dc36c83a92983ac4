#!/usr/bin/env bash
# vcard4 4.0.5 and vcf 2.1.2 (npm) cut a quoted parameter of a vCard, the one at commas, the other at a colon.
#
# Expected (RFC 6350 3.3: a quoted parameter value may hold "," ":" and ";"; the address is that of the example in 6.3.1): one label of five lines
# with two commas, and an address whose third part is the street.
# Seen: vcard4 makes a list of three labels. For vcf the value begins behind the first colon, that of "Mail Drop:" or of "geo:12.3457": the rest of
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
const address = ':;;123 Main Street;Any Town;CA;91921-1234;U.S.A.'
const label = ';LABEL="Mr. John Q. Public, Esq.\\nMail Drop: TNE QB\\n123 Main Street\\nAny Town, CA  91921-1234\\nU.S.A."'
for (const parameters of ['', label, ';GEO="geo:12.3457,78.910"' + label]) {
  const card = ['BEGIN:VCARD', 'VERSION:4.0', 'FN:John Public', 'ADR' + parameters + address, 'END:VCARD', ''].join('\r\n')
  const { value, parameters: read } = parse(card).parsedVcard.find(p => p.property === 'ADR')
  console.log('vcard4', JSON.stringify([read.LABEL ?? null, value.streetAddress]))
  console.log('vcf', JSON.stringify(vcf.parse(card)[0].toJSON()[1].find(p => p[0] === 'adr')[3].slice(0, 4)))
}
JS
seen=$(node read.mjs)
echo "$seen"
[ "$seen" = 'vcard4 [null,"123 Main Street"]
vcf ["","","123 Main Street","Any Town"]
vcard4 [["Mr. John Q. Public"," Esq.\nMail Drop: TNE QB\n123 Main Street\nAny Town"," CA  91921-1234\nU.S.A."],"123 Main Street"]
vcf [" TNE QB\\n123 Main Street\\nAny Town, CA  91921-1234\\nU.S.A.\":","","123 Main Street","Any Town"]
vcard4 [["Mr. John Q. Public"," Esq.\nMail Drop: TNE QB\n123 Main Street\nAny Town"," CA  91921-1234\nU.S.A."],"123 Main Street"]
vcf ["12.3457,78.910\"","LABEL=\"Mr. John Q. Public, Esq.\\nMail Drop: TNE QB\\n123 Main Street\\nAny Town, CA  91921-1234\\nU.S.A.\":","","123 Main Street"]' ] || { echo "the behaviour has changed" >&2; exit 1; }
