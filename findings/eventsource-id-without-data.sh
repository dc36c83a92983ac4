#!/usr/bin/env bash
# eventsource 3.0.7 (npm, on eventsource-parser 3.1.1) forgets an id that comes without data, and asks for events again that it has passed.
#
# Expected: HTML standard 9.2.6: at a blank line the last event ID of the stream becomes the one that was read, before an event without
# data is dropped. Servers use this: a line "id: 9" alone tells a client with a filter how far it is, and the next connection begins there.
# Seen: after "id: 5" with data and "id: 9" without, the next connection sends Last-Event-ID: 5. The parser has no event for the second
# block, and the id is a part of events. An id with empty data ("data" alone) counts.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent eventsource@3.0.7 eventsource-parser@3.1.1
cat >listen.mjs <<'JS'
import http from 'node:http'
import { EventSource } from 'eventsource'

const answers = ['retry: 20\n\nid: 5\ndata: low water\n\nid: 9\n\n', 'id: 12\ndata\n\n', '']
const asked = []
const server = http.createServer((request, answer) => {
  asked.push(request.headers['last-event-id'] ?? 'none')
  answer.writeHead(200, { 'content-type': 'text/event-stream' })
  answer.end(answers[asked.length - 1])
  if (asked.length === answers.length) {
    console.log(asked.join(' '))
    source.close()
    server.close()
    server.closeAllConnections()
  }
})
let source
server.listen(0, '127.0.0.1', () => {
  source = new EventSource(`http://127.0.0.1:${server.address().port}/`)
})
JS
seen=$(timeout 60 node listen.mjs)
echo "$seen"
[ "$seen" = 'none 5 12' ] || { echo "the behaviour has changed" >&2; exit 1; }
