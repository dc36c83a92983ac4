#!/bin/sh
# Writes the manual pages and the shell completions of all programs.
#
#   scripts/man.sh BIN OUT     reads programs in BIN, writes OUT/man/man1 and OUT/completions
set -eu

[ $# -eq 2 ] || { echo "usage: scripts/man.sh BIN OUT" >&2; exit 2; }
bin=$1 out=$2
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out/man/man1" "$out/completions/bash" "$out/completions/zsh" "$out/completions/fish"
for folder in "$here"/cmd/*/; do
	program=$(basename "$folder")
	"$bin/$program" --man >"$out/man/man1/$program.1"
	"$bin/$program" --completion bash >"$out/completions/bash/$program"
	"$bin/$program" --completion zsh >"$out/completions/zsh/_$program"
	"$bin/$program" --completion fish >"$out/completions/fish/$program.fish"
done
for command in top keygen; do
	"$bin/dc-admin" $command --man >"$out/man/man1/dc-admin-$command.1"
done
