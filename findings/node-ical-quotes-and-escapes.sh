#!/usr/bin/env bash
# node-ical 0.26.1 (npm) ends a quoted parameter at a semicolon, splits a category at an escaped comma and reads "\\n" as a line break.
#
# Expected (RFC 5545 3.2: a quoted parameter value may hold ";"; 3.3.11: in a text "\," is a comma and "\\" a backslash): the organizer is "Doe; Jane",
# there are the categories "Talks, open" and "Music", and C:\\new is the folder C:\new. ical.js 2.2.1 reads all of them so.
# Seen: the name is "Doe with one quote, the categories are three, of which one ends with a backslash, and C:\ and ew stand on two lines. Addresses
# with ";" in ALTREP lose what follows it.
#
# Needs node, npm and a registry. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --silent node-ical@0.26.1 ical.js@2.2.1
cat >read.mjs <<'JS'
import nodeIcal from 'node-ical'
import ICAL from 'ical.js'
const text = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//a.example//x//EN', 'BEGIN:VEVENT', 'UID:1@a.example', 'DTSTAMP:20240501T000000Z',
  'DTSTART:20240501T100000Z', 'ORGANIZER;CN="Doe; Jane":mailto:jane@a.example', 'CATEGORIES:Talks\\, open,Music', 'DESCRIPTION:Files: C:\\\\new',
  'LOCATION;ALTREP="https://a.example/?hall=1;floor=2":Hall', 'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n')
const event = nodeIcal.sync.parseICS(text)['1@a.example']
console.log(JSON.stringify([event.organizer.params.CN, event.categories, event.description, event.location.params.ALTREP]))
const other = new ICAL.Component(ICAL.parse(text)).getFirstSubcomponent('vevent')
console.log(JSON.stringify([other.getFirstProperty('organizer').getParameter('cn'), other.getFirstProperty('categories').getValues(),
  other.getFirstPropertyValue('description'), other.getFirstProperty('location').getParameter('altrep')]))
JS
seen=$(node read.mjs)
echo "$seen"
[ "$seen" = '["\"Doe",["Talks\\","open","Music"],"Files: C:\\\new","\"https://a.example/?hall=1"]
["Doe; Jane",["Talks, open","Music"],"Files: C:\\new","https://a.example/?hall=1;floor=2"]' ] || { echo "the behaviour has changed" >&2; exit 1; }
