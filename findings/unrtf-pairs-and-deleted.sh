#!/usr/bin/env bash
# unrtf 0.21.10 (Debian 12) writes characters outside of the basic plane as two references of halves, prints deleted and hidden text, and
# loses hyphens that do not break.
#
# Expected (RTF 1.9.1): \u-10179?\u-8704? is U+1F600, \deleted and \v mark text that is not shown, \_ is a hyphen.
# Seen: "&#55357;&#56832;", which no browser shows as a character; "gone" and "hidden" are text; "a\_b" is "ab".
#
# Needs apt-get and dpkg. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -q unrtf=0.21.10-clean-1 >/dev/null 2>&1
dpkg -x unrtf_*.deb .
cat >a.rtf <<'R'
{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Times;}}\pard
face \u-10179?\u-8704? {\v hidden}{\deleted gone} a\_b\par}
R
seen=$(usr/bin/unrtf -P usr/share/unrtf --html a.rtf | grep face)
echo "$seen"
[[ "$seen" == *"face &#55357;&#56832; hiddengone ab"* ]] || { echo "the behaviour has changed" >&2; exit 1; }
