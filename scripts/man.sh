#!/bin/sh
# Writes the manual pages and the shell completions of all programs.
#
#   scripts/man.sh BIN OUT     reads programs in BIN, writes OUT/man/man1 and OUT/completions
set -eu

[ $# -eq 2 ] || { echo "usage: scripts/man.sh BIN OUT" >&2; exit 2; }
bin=$1 out=$2
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out/man/man1" "$out/completions/bash" "$out/completions/zsh" "$out/completions/fish"

# page PROGRAM [SUB-COMMAND...] writes the pages of a command and of its sub-commands, which its
# help lists.
page() {
	program=$1
	name=$(echo "$*" | tr ' ' -)
	shift
	"$bin/$program" "$@" --man >"$out/man/man1/$name.1"
	for sub in $("$bin/$program" "$@" --help | sed -n '/^Commands, each/,/^$/s/^  \([a-z][a-z-]*\)  .*/\1/p'); do
		page "$program" "$@" "$sub"
	done
}

# hce-search comes after hce: "hce search" and hce-search have one page, that of the program.
for folder in "$here"/cmd/*/; do
	program=$(basename "$folder")
	page "$program"
	"$bin/$program" --completion bash >"$out/completions/bash/$program"
	"$bin/$program" --completion zsh >"$out/completions/zsh/_$program"
	"$bin/$program" --completion fish >"$out/completions/fish/$program.fish"
done
