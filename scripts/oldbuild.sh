#!/bin/sh
# Builds the programs of another commit, for make bench-process.
#
#   scripts/oldbuild.sh COMMIT FOLDER
#
# FOLDER gets bin and ini. If it has them already, nothing is done. The commit comes from the history
# of this repository, in a worktree that is removed at the end.
set -eu

[ $# -eq 2 ] || { echo "usage: scripts/oldbuild.sh COMMIT FOLDER" >&2; exit 2; }
[ ! -e "$2/ini" ] || exit 0
mkdir -p "$2/bin"
folder=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
tree=$(mktemp -d)
trap 'git worktree remove --force "$tree"' EXIT
git worktree add --quiet --detach "$tree" "$1" || {
	echo "oldbuild: the history has no commit $1; a shallow clone needs git fetch --unshallow" >&2
	exit 1
}
(cd "$tree" && CGO_ENABLED=1 go build -buildvcs=false -trimpath -o "$folder/bin/" ./cmd/...)
cp -r "$tree/ini" "$folder/ini"
