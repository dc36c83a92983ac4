#!/bin/sh
# Writes what the programs tell about themselves: manual pages and completions.
#
#   scripts/man.sh BIN OUT     programs in BIN, to OUT/man/man1 and OUT/completions
set -eu

[ $# -eq 2 ] || { echo "usage: scripts/man.sh BIN OUT" >&2; exit 2; }
bin=$1 out=$2
mkdir -p "$out/man/man1" "$out/completions/bash" "$out/completions/zsh" "$out/completions/fish"
for program in crawler-task db-task dc-admin dc-client dc-daemon dc-import processor-task; do
	"$bin/$program" --man >"$out/man/man1/$program.1"
	"$bin/$program" --completion bash >"$out/completions/bash/$program"
	"$bin/$program" --completion zsh >"$out/completions/zsh/_$program"
	"$bin/$program" --completion fish >"$out/completions/fish/$program.fish"
done
