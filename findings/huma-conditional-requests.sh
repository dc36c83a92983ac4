#!/usr/bin/env bash
# huma v2.37.2, package conditional: lists of entity tags with a blank behind the comma, sub-seconds and two conditions at once give the
# wrong status.
#
# Expected (RFC 9110 13.1.2: If-None-Match is a list, whose commas may have blanks around them, 5.6.1; 13.1.3: If-Modified-Since is ignored
# if there is an If-None-Match; 5.6.7: a date of HTTP has whole seconds; 13.2.2: an If-Match that is false is answered with 412).
# Seen: '"x", "abc"' does not match "abc", while '"x","abc"' does. With a tag of an older version and a date, the answer is 304: the client
# keeps the old page. A page whose time has nanoseconds, as that of a file, is never 304 for the date that the server itself has sent.
# If-Match with another tag is 304 for a GET.
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
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/danielgtaylor/huma/v2/conditional"
)

const date = "Wed, 01 May 2024 10:00:00 GMT"

// status is the answer to a GET with the fields, for a page with the tag "abc" that was modified at the time.
func status(modified time.Time, fields ...string) int {
	mux := http.NewServeMux()
	huma.Get(humago.New(mux, huma.DefaultConfig("pages", "1")), "/page", func(_ context.Context, in *struct{ conditional.Params }) (*struct{ Body string }, error) {
		if in.HasConditionalParams() {
			if err := in.PreconditionFailed("abc", modified); err != nil {
				return nil, err
			}
		}
		return &struct{ Body string }{"text"}, nil
	})
	request := httptest.NewRequest("GET", "/page", nil)
	for i := 0; i < len(fields); i += 2 {
		request.Header.Set(fields[i], fields[i+1])
	}
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, request)
	return answer.Code
}

func main() {
	whole := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)
	fmt.Println("list without a blank", status(whole, "If-None-Match", `"x","abc"`))
	fmt.Println("list with a blank", status(whole, "If-None-Match", `"x", "abc"`))
	fmt.Println("tag of an older version", status(whole, "If-None-Match", `"old"`))
	fmt.Println("tag of an older version and a date", status(whole, "If-None-Match", `"old"`, "If-Modified-Since", date))
	fmt.Println("date, whole second", status(whole, "If-Modified-Since", date))
	fmt.Println("date, half a second more", status(whole.Add(time.Second/2), "If-Modified-Since", date))
	fmt.Println("If-Match with another tag", status(whole, "If-Match", `"old"`))
}
GO
go mod tidy >/dev/null 2>&1
seen=$(go run .)
echo "$seen"
[ "$seen" = 'list without a blank 304
list with a blank 200
tag of an older version 200
tag of an older version and a date 304
date, whole second 304
date, half a second more 200
If-Match with another tag 304' ] || { echo "the behaviour has changed" >&2; exit 1; }
