#!/usr/bin/env bash
# bluemonday v1.0.27, UGCPolicy: the alternative text of a picture goes as a whole if it has a question mark, a colon, quotes or a percent
# sign, and numbered lists begin with 1 again.
#
# Expected: alt and title are text, in which every character is harmless once it is written as an attribute. The number with
# which a list begins is harmless, too: the policy keeps "type" of ol and "value" of li.
# Seen: alt="What is this?" and title="Note: see below" are removed, alt="A tree (old)" stays; ol start="3" has no start, so its item
# is number 1.
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

	"github.com/microcosm-cc/bluemonday"
)

func main() {
	policy := bluemonday.UGCPolicy()
	for _, page := range []string{
		`<img src="https://site.example/a.png" alt="A tree (old)">`, `<img src="https://site.example/a.png" alt="What is this?">`,
		`<img src="https://site.example/a.png" alt="50% of all">`, `<p title="Note: see below">x</p>`,
		`<ol start="3"><li>c</li></ol>`, `<ol type="a"><li value="5">e</li></ol>`,
	} {
		fmt.Println(policy.Sanitize(page))
	}
}
G
go get github.com/microcosm-cc/bluemonday@v1.0.27 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
seen=$(go run . 2>&1)
echo "$seen"
[ "$seen" = '<img src="https://site.example/a.png" alt="A tree (old)">
<img src="https://site.example/a.png">
<img src="https://site.example/a.png">
<p>x</p>
<ol><li>c</li></ol>
<ol type="a"><li value="5">e</li></ol>' ] || { echo "the behaviour has changed" >&2; exit 1; }
