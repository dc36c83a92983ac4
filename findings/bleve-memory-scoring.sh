#!/usr/bin/env bash
# bleve v2.6.3: NewMemOnly takes a mapping with ScoringModel "bm25" without an error, and scores by TF-IDF.
#
# Expected: the mapping decides how documents are scored, as it does for an index made by NewUsing with scorch; or an error.
# Seen: the explanation of a hit says "tf-idf model". A test that uses an index in memory ranks otherwise than the program.
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
	"regexp"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
)

func main() {
	m := bleve.NewIndexMapping()
	m.ScoringModel = "bm25"
	memory, err := bleve.NewMemOnly(m)
	if err != nil {
		panic(err)
	}
	other, err := bleve.NewUsing("", m, scorch.Name, scorch.Name, nil)
	if err != nil {
		panic(err)
	}
	for name, x := range map[string]bleve.Index{"NewMemOnly": memory, "NewUsing": other} {
		x.Index("a", map[string]string{"text": "stone river"})
		request := bleve.NewSearchRequest(bleve.NewMatchQuery("river"))
		request.Explain = true
		result, err := x.Search(request)
		if err != nil {
			panic(err)
		}
		defer fmt.Println(name, regexp.MustCompile(`as per ([a-z0-9-]+) model`).FindStringSubmatch(result.Hits[0].Expl.String())[1])
	}
}
G
go get github.com/blevesearch/bleve/v2@v2.6.3 >/dev/null 2>&1
seen=$(go run . 2>&1 | sort)
echo "$seen"
[ "$seen" = "NewMemOnly tf-idf
NewUsing bm25" ] || { echo "the behaviour has changed" >&2; exit 1; }
