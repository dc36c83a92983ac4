#!/usr/bin/env bash
# nfpm v2.48.0 makes a Debian package of version 1.2.3-4 that is older than 1.2.3, and writes versions of dates otherwise.
#
# Expected (Debian policy 5.6.12: what follows the last hyphen is the revision of the package; 1.2.3-4 is newer than 1.2.3; a leading zero is part of
# a version): the version in the package is the one of the configuration, or packaging fails.
# Seen: 1.2.3~4, which dpkg sorts before 1.2.3 and which apt does not install over it. 2024.05.01 becomes 2024.5.1, 20240501 becomes 20240501.0.0 and
# 1.2 becomes 1.2.0, so a tag and its package have different versions. There is no error. 1.2.3.4 stays.
#
# Needs Go, a module proxy and dpkg. It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod GOWORK=off
cat >go.mod <<'MOD'
module finding

go 1.26

require github.com/goreleaser/nfpm/v2 v2.48.0
MOD
cat >main.go <<'GO'
package main

import (
	"os"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
)

func main() {
	config, err := nfpm.Parse(strings.NewReader("name: tool\narch: amd64\nversion: \"" + os.Args[1] + "\"\nmaintainer: Ann <ann@a.example>\ndescription: a tool\n"))
	if err != nil {
		panic(err)
	}
	info, err := config.Get("deb")
	if err != nil {
		panic(err)
	}
	if err := deb.Default.Package(nfpm.WithDefaults(info), os.Stdout); err != nil {
		panic(err)
	}
}
GO
go build -o package .
seen=$(for version in 1.2.3 1.2.3-4 2024.05.01 20240501 1.2 1.2.3.4; do
	./package "$version" >tool.deb
	packed=$(dpkg-deb -f tool.deb Version)
	order=same
	dpkg --compare-versions "$packed" lt "$version" && order=older
	dpkg --compare-versions "$packed" gt "$version" && order=newer
	echo "$version $packed $order"
done)
dpkg --compare-versions 1.2.3~4 lt 1.2.3
echo "$seen"
[ "$seen" = '1.2.3 1.2.3 same
1.2.3-4 1.2.3~4 older
2024.05.01 2024.5.1 same
20240501 20240501.0.0 newer
1.2 1.2.0 newer
1.2.3.4 1.2.3.4 same' ] || { echo "the behaviour has changed" >&2; exit 1; }
