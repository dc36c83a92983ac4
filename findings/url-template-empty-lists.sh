#!/usr/bin/env bash
# url-template 3.1.1 (npm) writes a parameter with an empty value for an empty list.
#
# Expected (RFC 6570 2.3: a list or an associative array without members is undefined; 3.2.1: an undefined variable adds nothing): {?tag,page} with no
# tags and page 2 is ?page=2, as uri-template 2.0.0 has it, and as url-template itself has it for {?tag*,page}.
# Seen: ?tag=&page=2. A server reads one tag, whose name is empty, and finds no rows.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent url-template@3.1.1 uri-template@2.0.0
cat >expand.mjs <<'JS'
import { parseTemplate } from 'url-template'
import other from 'uri-template'
for (const template of ['/rows{?tag,page}', '/rows{?tag*,page}', '/rows?all{&fields}', '/rows{;tag}']) {
  const values = { tag: [], fields: {}, page: 2 }
  console.log(template, parseTemplate(template).expand(values), other.parse(template).expand(values))
}
JS
seen=$(node expand.mjs)
echo "$seen"
[ "$seen" = '/rows{?tag,page} /rows?tag=&page=2 /rows?page=2
/rows{?tag*,page} /rows?page=2 /rows?page=2
/rows?all{&fields} /rows?all&fields= /rows?all
/rows{;tag} /rows;tag= /rows' ] || { echo "the behaviour has changed" >&2; exit 1; }
