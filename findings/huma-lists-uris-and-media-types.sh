#!/usr/bin/env bash
# huma v2.37.2 splits a query parameter at commas that are escaped, takes "/a" and "a b" for URIs, and refuses "application/JSON".
#
# Expected: a list in a query (OpenAPI 3.1: style form, RFC 6570 3.2.8) has a comma between values; a comma that belongs to a value is written
# %2C, so ?page=https://a.example/1%2C2 is one address. JSON Schema, format "uri": a URI has a scheme; what may lack it is "uri-reference", and
# a blank is in neither. RFC 9110 8.3.1: names of media types are case-insensitive.
# Seen: two values, the second of which is "2", and no way to send the address in this style. "/a" and "a b" pass the validation of a field
# with format:"uri". A body with the type "application/JSON" is 415.
#
# Needs Go and a module proxy. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod GOWORK=off
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/danielgtaylor/huma/v2 v2.37.2
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

type lookup struct {
	Page []string `query:"page"`
}

type hook struct {
	Body struct {
		URL string `json:"url" format:"uri"`
	}
}

func main() {
	mux := http.NewServeMux()
	api := humago.New(mux, huma.DefaultConfig("pages", "1"))
	huma.Get(api, "/pages", func(_ context.Context, in *lookup) (*struct{}, error) {
		fmt.Printf("%d: %q\n", len(in.Page), in.Page)
		return nil, nil
	})
	huma.Post(api, "/hooks", func(_ context.Context, in *hook) (*struct{}, error) { return nil, nil })
	serve := func(method, target, kind, body string) int {
		request := httptest.NewRequest(method, target, strings.NewReader(body))
		request.Header.Set("Content-Type", kind)
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, request)
		return answer.Code
	}
	serve("GET", "/pages?page=https://a.example/1%2C2", "", "")
	for _, url := range []string{"https://a.example/", "/a", "a b", "https://a.example:port/"} {
		fmt.Printf("%s %d\n", url, serve("POST", "/hooks", "application/json", `{"url":"`+url+`"}`))
	}
	fmt.Println("application/JSON", serve("POST", "/hooks", "application/JSON", `{"url":"https://a.example/"}`))
}
GO
go mod tidy >/dev/null 2>&1
seen=$(go run .)
echo "$seen"
[ "$seen" = '2: ["https://a.example/1" "2"]
https://a.example/ 204
/a 204
a b 204
https://a.example:port/ 422
application/JSON 415' ] || { echo "the behaviour has changed" >&2; exit 1; }
