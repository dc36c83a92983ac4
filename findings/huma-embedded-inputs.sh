#!/usr/bin/env bash
# huma v2.37.2: parameters of an embedded struct whose type has a lower-case name are neither read nor documented, without an error.
#
# Expected: an input struct that embeds another one has its fields too, whatever the name of the embedded type is: encoding/json,
# encoding/xml and package reflect (VisibleFields) promote exported fields of embedded types that are not exported.
# Seen: the path parameter of such a type stays empty in the handler, its query parameter is ignored, and with
# RejectUnknownQueryParameters refused as unknown; the document lists neither. A body in the same place is read. With a name in upper
# case all are read.
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
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

type harbour struct {
	ID    string `path:"id" json:"id"`
	Limit int    `query:"limit" default:"7" json:"limit"`
}

// Harbour is the same with another name.
type Harbour harbour

func main() {
	mux := http.NewServeMux()
	api := humago.New(mux, huma.DefaultConfig("harbours", "1"))
	huma.Get(api, "/lower/{id}", func(_ context.Context, in *struct{ harbour }) (*struct{}, error) {
		fmt.Printf("lower: %q %d\n", in.ID, in.Limit)
		return nil, nil
	})
	huma.Get(api, "/upper/{id}", func(_ context.Context, in *struct{ Harbour }) (*struct{}, error) {
		fmt.Printf("upper: %q %d\n", in.ID, in.Limit)
		return nil, nil
	})
	for _, target := range []string{"/lower/7?limit=3", "/upper/7?limit=3"} {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest("GET", target, nil))
		fmt.Println(answer.Code, len(api.OpenAPI().Paths[target[:6]+"/{id}"].Get.Parameters), "parameters in the document")
	}
	var in struct{ harbour }
	fmt.Println(json.Unmarshal([]byte(`{"id":"7","limit":3}`), &in), in.ID, in.Limit)
}
GO
go mod tidy >/dev/null 2>&1
seen=$(go run .)
echo "$seen"
[ "$seen" = 'lower: "" 0
204 0 parameters in the document
upper: "7" 3
204 2 parameters in the document
<nil> 7 3' ] || { echo "the behaviour has changed" >&2; exit 1; }
