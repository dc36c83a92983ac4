#!/usr/bin/env bash
# modelcontextprotocol/go-sdk v1.8.0 refuses the results of its own typed tools if a field is []byte, json.RawMessage or a type with MarshalText.
#
# Expected: the schema that AddTool infers from a Go type describes the JSON of that type. encoding/json writes []byte as text in base64,
# json.RawMessage as the value it holds, netip.Addr and each other encoding.TextMarshaler as text, and an int with the option "string" as text.
# Seen: the schema asks for an array of integers, an array of integers, an object without properties, and an integer. Each call ends with an
# error of validation, although the tool returned a value of its own type. A time.Time works.
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

require (
	github.com/google/jsonschema-go v0.4.3
	github.com/modelcontextprotocol/go-sdk v1.8.0
)
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type page[T any] struct {
	Value T `json:"value"`
}

type number struct {
	Value int64 `json:"value,string"`
}

// call serves one tool that returns result, and calls it.
func call[Out any](name string, result Out) {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "pages", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, Out, error) {
		return nil, result, nil
	})
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	answer, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "get", Arguments: map[string]any{}})
	text, _ := json.Marshal(result)
	switch {
	case err != nil:
		fmt.Println(name, string(text), "is refused")
	case answer.IsError:
		fmt.Println(name, string(text), "is an error of the tool")
	default:
		fmt.Println(name, string(text), "is returned")
	}
}

func main() {
	call("time", page[time.Time]{time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)})
	call("bytes", page[[]byte]{[]byte("hi")})
	call("raw", page[json.RawMessage]{json.RawMessage(`{"a":1}`)})
	call("address", page[netip.Addr]{netip.MustParseAddr("192.0.2.1")})
	call("string option", number{7})
}
GO
go mod tidy >/dev/null 2>&1
seen=$(go run .)
echo "$seen"
[ "$seen" = 'time {"value":"2024-05-01T10:00:00Z"} is returned
bytes {"value":"aGk="} is refused
raw {"value":{"a":1}} is refused
address {"value":"192.0.2.1"} is refused
string option {"value":"7"} is refused' ] || { echo "the behaviour has changed" >&2; exit 1; }
