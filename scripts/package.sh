#!/bin/sh
# Lays everything out as it is installed, below OUT/root, and packs that as
# OUT/dc.tar.gz. The ini files are the shipped ones with the paths of a system:
#
#   /usr/bin                  programs
#   /etc/dc-daemon            ini files of the daemon and its tasks
#   /etc/dc-client, dc-admin  their ini files
#   /var/lib/dc               data
#   /var/log/dc               logs of the task programs; the daemon's is the journal
#
#   scripts/package.sh OUT [BIN [SHARE]]     with BIN from "make build", SHARE from "make man"
set -eu

[ $# -ge 1 ] || { echo "usage: scripts/package.sh OUT [BIN [SHARE]]" >&2; exit 2; }
out=$1 bin=${2:-bin} share=${3:-share}
here=$(cd "$(dirname "$0")/.." && pwd)
root=$out/root
rm -rf "$root"
mkdir -p "$root/usr/bin" "$root/usr/lib/systemd/system" "$root/usr/lib/sysusers.d" "$root/usr/lib/tmpfiles.d" \
	"$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" "$root/usr/share/zsh/site-functions" \
	"$root/usr/share/fish/vendor_completions.d" "$root/usr/share/doc/dc/systemd" "$root/etc/logrotate.d"

# ini NAME FOLDER: the shipped file NAME with the paths of a system.
ini() {
	mkdir -p "$root/etc/$2"
	sed -e 's|^data_dir = \.\./data$|data_dir = /var/lib/dc|' \
		-e 's|^log = log/|log = /var/log/dc/|' \
		-e 's|= \.\./bin/|= /usr/bin/|' \
		-e 's| -c \([a-z-]*\.ini\)$| -c /etc/dc-daemon/\1|' \
		-e 's|^\(db-task_ini\) = \([a-z]\)|\1 = /etc/dc-daemon/\2|' \
		-e 's|^\(headers_file\) = \([a-z]\)|\1 = /etc/dc-daemon/\2|' \
		-e 's|^\(cookie_file\) = \([a-z]\)|\1 = /etc/dc-daemon/\2|' \
		"$here/ini/$1" >"$root/etc/$2/$1"
}

for program in crawler-task db-task dc-admin dc-client dc-daemon dc-import processor-task; do
	cp "$bin/$program" "$root/usr/bin/"
	cp "$share/man/man1/$program.1" "$root/usr/share/man/man1/"
	cp "$share/completions/bash/$program" "$root/usr/share/bash-completion/completions/"
	cp "$share/completions/zsh/_$program" "$root/usr/share/zsh/site-functions/"
	cp "$share/completions/fish/$program.fish" "$root/usr/share/fish/vendor_completions.d/"
done
for name in dc-daemon db-task crawler-task processor-task; do
	ini $name.ini dc-daemon
done
cp "$here/ini/crawler-task_headers.txt" "$here/ini/crawler-task_cookie.txt" "$root/etc/dc-daemon/"
ini dc-client.ini dc-client
ini dc-admin.ini dc-admin
# A task program that is started by hand finds its file.
for name in db-task crawler-task processor-task; do
	mkdir -p "$root/etc/$name"
	ln -s ../dc-daemon/$name.ini "$root/etc/$name/$name.ini"
done
cp "$here/packaging/systemd/dc-daemon.service" "$root/usr/lib/systemd/system/"
cp "$here/packaging/systemd/browser.conf" "$root/usr/share/doc/dc/systemd/"
cp "$here/packaging/systemd/dc.sysusers" "$root/usr/lib/sysusers.d/dc.conf"
cp "$here/packaging/systemd/dc.tmpfiles" "$root/usr/lib/tmpfiles.d/dc.conf"
cp "$here/packaging/logrotate/dc" "$root/etc/logrotate.d/dc"
cp "$here"/docs/*.md "$root/usr/share/doc/dc/"
# Whoever unpacks it into / keeps the modes of the folders that are there.
tar -C "$root" --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w -czf "$out/dc.tar.gz" etc usr
