#!/usr/bin/env bash
# tough-cookie 6.1.0 (npm) refuses a cookie of a host that is a public suffix itself, if it names its own domain.
#
# Expected (RFC 6265 5.3 step 5): a Domain attribute that is a public suffix and equals the host is ignored; the cookie is kept for this host
# alone. Browsers and Go's net/http/cookiejar do so. The public suffix list has many hosts with pages of their own, such as github.io.
# Seen: setCookie fails ("Cookie has domain set to a public suffix"), and the session of the site is lost.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent tough-cookie@6.1.0
cat >jar.js <<'JS'
const { CookieJar } = require('tough-cookie')
async function set(cookie) {
  const jar = new CookieJar()
  try {
    await jar.setCookie(cookie, 'https://github.io/')
  } catch (error) {
    return error.message
  }
  return jar.getCookieString('https://github.io/')
}
set('a=1').then(async first => console.log(`${first}; ${await set('a=1; Domain=github.io')}`))
JS
seen=$(node jar.js)
echo "without and with Domain=github.io at github.io: $seen"
[ "$seen" = "a=1; Cookie has domain set to a public suffix" ] || { echo "the behaviour has changed" >&2; exit 1; }
