#!/usr/bin/env bash
# temoto/robotstxt v1.1.2 takes the first of two rules of one length, and ends a group at a line that is no rule.
#
# Expected (RFC 9309 2.2.2 and 2.2.4): of an Allow and a Disallow of the same length the Allow counts. Lines with other names, such
# as Crawl-delay, do not end the list of user agents: both agents have the rule behind them.
# Seen: "Disallow: /a" before "Allow: /a" forbids /a. In "User-agent: bot, Crawl-delay: 5, User-agent: other, Disallow: /x" the rule is
# for "other" only.
#
# Needs Go. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod GOWORK=off
go mod init finding >/dev/null 2>&1
cat >main.go <<'G'
package main

import (
	"fmt"

	"github.com/temoto/robotstxt"
)

func main() {
	for _, c := range []struct{ file, agent, path string }{
		{"User-agent: *\nDisallow: /a\nAllow: /a\n", "bot", "/a"},
		{"User-agent: *\nAllow: /a\nDisallow: /a\n", "bot", "/a"},
		{"User-agent: bot\nCrawl-delay: 5\nUser-agent: other\nDisallow: /x\n", "bot", "/x"},
		{"User-agent: bot\nUser-agent: other\nDisallow: /x\n", "bot", "/x"},
	} {
		rules, err := robotstxt.FromString(c.file)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%q %s %t\n", c.file, c.path, rules.TestAgent(c.path, c.agent))
	}
}
G
go get github.com/temoto/robotstxt@v1.1.2 >/dev/null 2>&1
seen=$(go run . 2>&1)
echo "$seen"
[ "$seen" = '"User-agent: *\nDisallow: /a\nAllow: /a\n" /a false
"User-agent: *\nAllow: /a\nDisallow: /a\n" /a true
"User-agent: bot\nCrawl-delay: 5\nUser-agent: other\nDisallow: /x\n" /x true
"User-agent: bot\nUser-agent: other\nDisallow: /x\n" /x false' ] || { echo "the behaviour has changed" >&2; exit 1; }
