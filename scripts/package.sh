#!/bin/sh
# Creates the installed file tree in OUT/root and packs it as OUT/dc.tar.gz. The ini
# files are those of ini/ with the paths of an installed system:
#
#   /usr/bin                  programs
#   /etc/dc-daemon            ini files of the daemon and its tasks
#   /etc/dc-node              ini file of a data node, which uses those of the tasks, too
#   /etc/hce-webserver        ini file of the web server and its Web Store
#   /etc/dc-client, dc-admin, hce-search  their ini files
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

# Texts name the pages as the repository does.
pages='s|\bdocs/\([a-z/-]*\.md\)|/usr/share/doc/dc/\1|g'

# ini NAME FOLDER writes ini/NAME with installed paths to /etc/FOLDER.
ini() {
	mkdir -p "$root/etc/$2"
	sed -e 's|^data_dir = \.\./data$|data_dir = /var/lib/dc|' \
		-e 's|^folder = \.\./www$|folder = /var/lib/dc/www|' \
		-e 's|^keys = \.\./data/keys$|keys = /var/lib/dc/keys|' \
		-e 's|^log = log/|log = /var/log/dc/|' \
		-e 's|= \.\./bin/|= /usr/bin/|' \
		-e 's| -c \([a-z-]*\.ini\)$| -c /etc/dc-daemon/\1|' \
		-e 's|^\(db-task_ini\) = \([a-z]\)|\1 = /etc/dc-daemon/\2|' \
		-e 's|^\(headers_file\) = \([a-z]\)|\1 = /etc/dc-daemon/\2|' \
		-e 's|^\(cookie_file\) = \([a-z]\)|\1 = /etc/dc-daemon/\2|' \
		-e "$pages" \
		"$here/ini/$1" >"$root/etc/$2/$1"
}

cp "$share"/man/man1/*.1 "$root/usr/share/man/man1/"
for folder in "$here"/cmd/*/; do
	program=$(basename "$folder")
	cp "$bin/$program" "$root/usr/bin/"
	cp "$share/completions/bash/$program" "$root/usr/share/bash-completion/completions/"
	cp "$share/completions/zsh/_$program" "$root/usr/share/zsh/site-functions/"
	cp "$share/completions/fish/$program.fish" "$root/usr/share/fish/vendor_completions.d/"
done
for name in dc-daemon db-task crawler-task processor-task; do
	ini $name.ini dc-daemon
done
cp "$here/ini/crawler-task_headers.txt" "$here/ini/crawler-task_cookie.txt" "$root/etc/dc-daemon/"
ini dc-node.ini dc-node
ini hce-webserver.ini hce-webserver
ini dc-client.ini dc-client
ini dc-admin.ini dc-admin
ini hce-search.ini hce-search
# Task programs that are started by hand look for /etc/<program>/<program>.ini.
for name in db-task crawler-task processor-task; do
	mkdir -p "$root/etc/$name"
	ln -s ../dc-daemon/$name.ini "$root/etc/$name/$name.ini"
done
cp "$here/packaging/systemd/dc-daemon.service" "$here/packaging/systemd/dc-node.service" "$root/usr/lib/systemd/system/"
cp "$here/packaging/systemd/browser.conf" "$root/usr/share/doc/dc/systemd/"
cp "$here/packaging/systemd/dc.sysusers" "$root/usr/lib/sysusers.d/dc.conf"
cp "$here/packaging/systemd/dc.tmpfiles" "$root/usr/lib/tmpfiles.d/dc.conf"
cp "$here/packaging/logrotate/dc" "$root/etc/logrotate.d/dc"
mkdir -p "$root/usr/share/doc/dc/prometheus" "$root/usr/share/doc/dc/grafana" "$root/usr/share/doc/dc/captures" \
	"$root/usr/share/doc/dc/spec" "$root/usr/share/doc/dc/decisions"
for name in "$here/CHANGELOG.md" "$here"/docs/*.md; do
	sed -e 's|](\.\./CHANGELOG\.md)|](CHANGELOG.md)|g' -e 's|](docs/|](|g' "$name" >"$root/usr/share/doc/dc/$(basename "$name")"
done
cp "$here"/docs/spec/*.md "$root/usr/share/doc/dc/spec/"
cp "$here"/docs/decisions/*.md "$root/usr/share/doc/dc/decisions/"
cp "$here"/docs/captures/*.svg "$root/usr/share/doc/dc/captures/"
for name in "$here"/packaging/prometheus/*.yml; do
	sed -e "$pages" "$name" >"$root/usr/share/doc/dc/prometheus/$(basename "$name")"
done
sed -e "$pages" "$here/packaging/grafana/dc.json" >"$root/usr/share/doc/dc/grafana/dc.json"
# Fixed owners and modes: unpacking into / must not change the modes of system folders.
tar -C "$root" --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w -czf "$out/dc.tar.gz" etc usr
