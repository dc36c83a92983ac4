#!/usr/bin/env bash
# bleve v2.6.3 with ScoringModel "bm25" takes the number of different words for the length of an average document.
#
# Expected: BM25 divides the length of a document by the average length of all documents, both in words (k1 and b are made
# for that). Documents of 100 and of 2 words have an average of 51.
# Seen: avgFieldLength is 2: the terms of the dictionary divided by the number of documents. A document of 100 words counts as
# fifty times the average, so long documents with few different words lose nearly all of their score.
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
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
)

func main() {
	m := bleve.NewIndexMapping()
	m.ScoringModel = "bm25"
	x, err := bleve.NewUsing("", m, scorch.Name, scorch.Name, nil)
	if err != nil {
		panic(err)
	}
	x.Index("long", map[string]string{"text": strings.Repeat("stone ", 99) + "river"})
	x.Index("short", map[string]string{"text": "stone river"})
	question := bleve.NewMatchQuery("river")
	question.SetField("text")
	request := bleve.NewSearchRequest(question)
	request.Explain = true
	result, err := x.Search(request)
	if err != nil {
		panic(err)
	}
	for _, hit := range result.Hits {
		found := regexp.MustCompile(`fieldLength=([0-9.]+), avgFieldLength=([0-9.]+)`).FindStringSubmatch(hit.Expl.String())
		fmt.Printf("%s: length %.5s, average %s\n", hit.ID, found[1], found[2])
	}
}
G
go get github.com/blevesearch/bleve/v2@v2.6.3 >/dev/null 2>&1
seen=$(go run . 2>&1)
echo "$seen"
[ "$seen" = "short: length 2.000, average 2.000000
long: length 99.99, average 2.000000" ] || { echo "the behaviour has changed" >&2; exit 1; }
