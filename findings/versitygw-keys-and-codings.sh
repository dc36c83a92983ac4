#!/usr/bin/env bash
# versitygw v1.8.0 (posix) keeps the upload coding of minio-go v7.4.1 in Content-Encoding, and has one object for the keys "a//b" and "a/b".
#
# Expected (S3: aws-chunked is the coding of the upload alone, which is removed before the object is kept; a key is a name, in which two slashes are
# two characters): an object that is put with ContentEncoding "gzip" is served with "Content-Encoding: gzip". "pages//1" and "pages/1" are two
# objects, or the server refuses one of them. A listing has the key that was put.
# Seen: "Content-Encoding: aws-chunked,gzip", so no HTTP client decodes the object. The second put overwrites the first one without an error, and
# the object "https://a.example/1" is listed as "https:/a.example/1".
#
# Needs Go and a module proxy; the build takes a minute or more. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod GOWORK=off
cat >go.mod <<'MOD'
module finding

go 1.26

require (
	github.com/minio/minio-go/v7 v7.4.1
	github.com/versity/versitygw v1.8.0
)

tool github.com/versity/versitygw/cmd/versitygw
MOD
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// startServer runs versitygw over the two folders of the arguments, and returns its address once it takes connections.
func startServer() (string, *exec.Cmd) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	address := free.Addr().String()
	check(free.Close())
	server := exec.Command("./versitygw", "--port", address, "posix", "--sidecar", os.Args[2], os.Args[1])
	server.Env = append(os.Environ(), "ROOT_ACCESS_KEY=user", "ROOT_SECRET_KEY=password")
	check(server.Start())
	for end := time.Now().Add(30 * time.Second); ; {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			check(connection.Close())
			return address, server
		}
		if time.Now().After(end) {
			panic(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	address, server := startServer()
	defer server.Wait()
	defer server.Process.Kill()
	client, err := minio.New(address, &minio.Options{Creds: credentials.NewStaticV4("user", "password", "")})
	check(err)
	check(client.MakeBucket(ctx, "pages", minio.MakeBucketOptions{}))
	put := func(key, text string, options minio.PutObjectOptions) {
		_, err := client.PutObject(ctx, "pages", key, strings.NewReader(text), int64(len(text)), options)
		check(err)
	}
	put("packed", "\x1f\x8b", minio.PutObjectOptions{ContentEncoding: "gzip"})
	link, err := client.PresignedGetObject(ctx, "pages", "packed", time.Minute, nil)
	check(err)
	answer, err := http.Get(link.String())
	check(err)
	fmt.Println(answer.StatusCode, "Content-Encoding:", answer.Header.Get("Content-Encoding"))
	put("pages/1", "one slash", minio.PutObjectOptions{})
	put("pages//1", "two slashes", minio.PutObjectOptions{})
	put("https://a.example/1", "a URL", minio.PutObjectOptions{})
	object, err := client.GetObject(ctx, "pages", "pages/1", minio.GetObjectOptions{})
	check(err)
	text, err := io.ReadAll(object)
	check(err)
	fmt.Println("pages/1:", string(text))
	for found := range client.ListObjects(ctx, "pages", minio.ListObjectsOptions{Recursive: true}) {
		check(found.Err)
		fmt.Println("listed:", found.Key)
	}
}
GO
go mod tidy >/dev/null 2>&1
go build -o versitygw github.com/versity/versitygw/cmd/versitygw
mkdir data sidecar
seen=$(go run . "$dir/data" "$dir/sidecar")
echo "$seen"
[ "$seen" = '200 Content-Encoding: aws-chunked,gzip
pages/1: two slashes
listed: https:/a.example/1
listed: packed
listed: pages/1' ] || { echo "the behaviour has changed" >&2; exit 1; }
