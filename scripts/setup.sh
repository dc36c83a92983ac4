#!/bin/sh
# Checks what the build needs and, with the argument "test" or "bench", every program that
# the tests or the benchmark start. It installs what is missing with apt-get on Debian and Ubuntu, as root or
# through sudo without a password. Elsewhere it prints one line that says what to install
# and exits 1. It prints nothing if nothing is missing.
#
#   scripts/setup.sh          Go, a C compiler, pkg-config, libzmq
#   scripts/setup.sh test     also the programs in test_programs below, the
#                             documentation packages that the tests crawl, and the
#                             JavaScript packages in npm_packages
#   scripts/setup.sh bench    also nginx, and the crawlers that make bench compares; it
#                             names those that it cannot install
#
# Files that it has to keep go to .cache/: .cache/go is a Go toolchain (the Makefile
# looks there first), .cache/docs is documentation that the package manager left out,
# .cache/promtool is a program whose package is too large to install, .cache/node_modules
# has the JavaScript packages.
set -eu

cd "$(dirname "$0")/.."
cache=$(pwd)/.cache
PATH=$cache/go/bin:$PATH
docs_root=${DOCS_ROOT:-/usr/share/doc}
usual_go=${USUAL_GO:-/usr/local/go}
server_root=${SERVER_ROOT:-/usr/sbin}
log=

say() { echo "setup: $*" >&2; }

# fail tells in one line what a person has to do.
fail() {
	say "$*"
	exit 1
}

cleanup() { [ -z "$log" ] || rm -f "$log"; }
trap cleanup EXIT

# --- The system's package manager -------------------------------------------

# as_root runs a command as root, if that is possible without a question.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		sudo -n "$@"
	fi
}

may_install() {
	command -v apt-get >/dev/null 2>&1 || return 1
	[ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null
}

# quietly runs a command and shows its output only if it fails.
quietly() {
	[ -n "$log" ] || log=$(mktemp)
	if ! "$@" >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		return 1
	fi
}

updated=
update_lists() {
	[ -z "$updated" ] || return 0
	quietly as_root apt-get update -qq || fail "apt-get update failed"
	updated=yes
}

# try_install installs Debian packages, or returns 1.
try_install() {
	may_install || return 1
	say "installing ${*#--reinstall }"
	update_lists
	quietly as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends "$@"
}

# install_packages installs Debian packages; it ends the script if it cannot.
install_packages() {
	may_install || fail "missing: $*. $advice"
	try_install "$@" || fail "apt-get install $* failed"
}

# --- Go -----------------------------------------------------------------------

wanted_go=$(sed -n 's/^go //p' go.mod)
advice="Install Go $wanted_go or newer, a C compiler, pkg-config and the headers of libzmq (Debian and Ubuntu: gcc libc6-dev pkg-config libzmq3-dev), then try again"

# at_least A B: version A is B or newer.
at_least() {
	[ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# go_is_good asks Go itself, in the module: since 1.21 it fetches the toolchain
# that go.mod wants, if it is not that new itself.
go_is_good() {
	command -v go >/dev/null 2>&1 || return 1
	found=$(go env GOVERSION 2>/dev/null) || return 1
	found=${found#go}
	[ -n "$found" ] && at_least "${found%% *}" "$wanted_go"
}

# fetch_toolchain lets an older Go fetch the one that is wanted as what it is to
# newer ones: a module, checked against the checksum database. It ends up in
# .cache/go.
fetch_toolchain() {
	version=$wanted_go
	case $version in
	*.*.*) ;;
	*) version=$version.0 ;; # toolchains have three numbers
	esac
	# An old Go cannot read this module's go.mod, so it is asked elsewhere.
	module=golang.org/toolchain@v0.0.1-go$version.$(cd / && go env GOOS)-$(cd / && go env GOARCH)
	say "fetching Go $version with $(go version | cut -d ' ' -f 3)"
	rm -rf "$cache/toolchain"
	mkdir -p "$cache/toolchain"
	quietly env GOMODCACHE="$cache/toolchain" GOFLAGS=-modcacherw \
		sh -c "cd / && go mod download '$module'" || return 1
	new=$cache/toolchain/$module
	[ -d "$new" ] || return 1
	# A module holds neither executables nor other modules; undo both.
	chmod +x "$new"/bin/* "$new"/pkg/tool/*/* 2>/dev/null || true
	find "$new/src" -name _go.mod | while read -r file; do
		mv "$file" "$(dirname "$file")/go.mod"
	done
	rm -rf "$cache/go"
	mv "$new" "$cache/go"
	rm -rf "$cache/toolchain"
}

ensure_go() {
	go_is_good && return
	if ! command -v go >/dev/null 2>&1 && [ -x "$usual_go/bin/go" ]; then
		mkdir -p "$cache" # it is there, only not in PATH
		ln -sfn "$usual_go" "$cache/go"
		go_is_good && return
	fi
	if ! command -v go >/dev/null 2>&1; then
		install_packages golang-go ca-certificates
	fi
	go_is_good && return
	fetch_toolchain || fail "Go is too old ($(go version)) and a newer one could not be fetched. $advice"
	hash -r
	go_is_good || fail "the Go that was fetched does not run. $advice"
}

# --- C, libzmq and tools ----------------------------------------------------------

missing=
need() { missing="$missing $*"; }

check_build() {
	command -v "${CC:-cc}" >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 || need gcc libc6-dev
	if ! command -v pkg-config >/dev/null 2>&1; then
		need pkg-config libzmq3-dev
	elif ! pkg-config --exists libzmq; then
		need libzmq3-dev
	fi
	command -v make >/dev/null 2>&1 || need make
}

# test_programs lists the programs that the tests start: a line for each, with the names
# that do equally well, and the Debian package that brings it.
test_programs='wget: wget
sqlite3: sqlite3
chromium chromium-browser google-chrome google-chrome-stable chrome: chromium
mariadbd mysqld: mariadb-server-core
mariadb-install-db mysql_install_db: mariadb-server-core
resolveip: mariadb-server-core
my_print_defaults: mariadb-client-core
groff: groff-base
man: man-db
zsh: zsh
fish: fish
systemd-analyze: systemd
systemd-sysusers: systemd
strace: strace
git: git
xmllint: libxml2-utils
xmlschema-validate: python3-xmlschema
node nodejs: nodejs'

# found NAME...: one of the programs is there. Servers are not in everyone's PATH.
found() {
	for name in "$@"; do
		! command -v "$name" >/dev/null 2>&1 || return 0
		! command -v "$server_root/$name" >/dev/null 2>&1 || return 0
	done
	return 1
}

# absent prints the packages of the test programs that are missing, each once.
absent() {
	packages=
	while IFS=: read -r names package; do
		# shellcheck disable=SC2086 # a list of names
		found $names || case " $packages " in
		*"$package "*) ;;
		*) packages="$packages$package" ;;
		esac
	done <<-END
		$test_programs
	END
	echo "${packages# }"
}

# ensure_programs installs the packages of missing test programs. A package that is
# installed without its programs is installed again.
ensure_programs() {
	packages=$(absent)
	[ -n "$packages" ] || return 0
	# shellcheck disable=SC2086 # a list of packages
	install_packages $packages
	packages=$(absent)
	[ -n "$packages" ] || return 0
	# shellcheck disable=SC2086 # a list of packages
	install_packages --reinstall $packages
	packages=$(absent)
	[ -z "$packages" ] || fail "the packages $packages are installed, but not all of their programs are there; install them again by hand"
}

# --- Documentation ------------------------------------------------------------------

# have_docs FILE: the documentation with this file is on the system or in the
# cache.
have_docs() { [ -e "$docs_root/$1" ] || [ -e "$cache/docs/$1" ]; }

# unpack_docs PACKAGE puts the documentation of a package into .cache/docs, where
# it lies as it would below /usr/share/doc. Images of small systems tell dpkg to
# leave documentation out, so that installing a package does not bring it.
unpack_docs() {
	say "unpacking $1 into .cache/docs"
	! may_install || update_lists # images come without lists
	rm -rf "$cache/deb"
	mkdir -p "$cache/deb" "$cache/docs"
	(cd "$cache/deb" && quietly apt-get download -qq "$1") || return 1
	quietly dpkg-deb -x "$cache/deb/$1"_*.deb "$cache/deb/root" || return 1
	for folder in "$cache/deb/root/usr/share/doc"/*; do
		rm -rf "$cache/docs/${folder##*/}.new"
		cp -R "$folder" "$cache/docs/${folder##*/}.new"
		rm -rf "$cache/docs/${folder##*/}"
		mv "$cache/docs/${folder##*/}.new" "$cache/docs/${folder##*/}"
	done
	rm -rf "$cache/deb"
	# Links to other packages were written for /usr/share/doc.
	find "$cache/docs" -type l | while read -r link; do
		to=$(readlink "$link")
		case $to in
		*../javascript/*) ln -sf "/usr/share/javascript/${to##*../javascript/}" "$link" ;;
		esac
	done
}

# ensure_docs PACKAGE FILE
ensure_docs() {
	have_docs "$2" && return
	if may_install && ! dpkg -s "$1" >/dev/null 2>&1; then
		install_packages "$1"
	fi
	have_docs "$2" && return
	unpack_docs "$1" || fail "the tests need the documentation of the Debian package $1, which could be neither installed nor unpacked"
	have_docs "$2" || fail "the package $1 holds no $2"
}

# --- Prometheus ---------------------------------------------------------------------

# ensure_promtool unpacks promtool into .cache: its Debian package is a whole server.
ensure_promtool() {
	! found promtool || return 0
	[ ! -x "$cache/promtool" ] || return 0
	command -v apt-get >/dev/null 2>&1 || fail "the tests need promtool, in PATH or as .cache/promtool; install Prometheus, then try again"
	say "unpacking promtool into .cache"
	! may_install || update_lists
	rm -rf "$cache/deb"
	mkdir -p "$cache/deb"
	(cd "$cache/deb" && quietly apt-get download -qq prometheus &&
		dpkg-deb --fsys-tarfile prometheus_*.deb | tar -xO ./usr/bin/promtool >promtool && chmod +x promtool && mv promtool ..) ||
		fail "promtool could not be unpacked from the Debian package prometheus"
	rm -rf "$cache/deb"
}

# --- JavaScript -----------------------------------------------------------------------

# npm_packages lists the packages that the tests load: a line for each, with name, version and
# the SHA-256 of its archive. What the tests load of them needs no other package.
npm_packages='hyparquet 1.31.5 5fb6b118fcbc4575771204acd0aa5cab532f40be92339094b7cc756d79830ab5
fzstd 0.1.1 5ed2ee2d3439067be211d0093292c708a831045372342c897437e5a4997c45c5
replaywebpage 2.5.3 b7d35c39c4da9b7121c5a393911d8675d4cc6f19513c380191e16b086bea812c
warcio 2.4.11 144a55b7bf093071300123e581c42978912ea600cda252074f6ddecc3a3a6ce5'

# ensure_npm_packages unpacks them into .cache/node_modules. It runs none of their scripts.
ensure_npm_packages() {
	while read -r module version sum; do
		[ ! -e "$cache/node_modules/$module/version-$version" ] || continue
		found npm || install_packages npm
		say "unpacking $module $version into .cache/node_modules"
		rm -rf "$cache/npm" "$cache/node_modules/$module"
		mkdir -p "$cache/npm" "$cache/node_modules"
		(cd "$cache/npm" && quietly npm pack "$module@$version" &&
			echo "$sum  $module-$version.tgz" | quietly sha256sum -c && tar -xzf "$module-$version.tgz") ||
			fail "the npm package $module $version could not be fetched, or has another SHA-256 than $sum"
		touch "$cache/npm/package/version-$version"
		mv "$cache/npm/package" "$cache/node_modules/$module"
		rm -rf "$cache/npm"
	done <<-END
		$npm_packages
	END
}

# --- Benchmark ----------------------------------------------------------------------

# ensure_bench installs the web server, and the crawlers as far as that is possible.
ensure_bench() {
	found nginx || install_packages nginx-light
	found wget2 || try_install wget2 || say "the benchmark leaves out wget2"
	found scrapy || try_install python3-scrapy || say "the benchmark leaves out scrapy"
}

# --- The uses -----------------------------------------------------------------------

case ${1:-} in
'' | test | bench) ;;
*)
	echo "usage: scripts/setup.sh [test|bench]" >&2
	exit 2
	;;
esac

check_build
# shellcheck disable=SC2086 # a list of packages
[ -z "$missing" ] || install_packages $missing
ensure_go
if [ -n "${1:-}" ]; then
	ensure_programs
	ensure_promtool
	ensure_npm_packages
	command -v apt-get >/dev/null 2>&1 ||
		have_docs postgresql-doc-15/html/index.html ||
		fail "the tests need the documentation in Debian's packages postgresql-doc-15, python3.11-doc, apache2-doc and openjdk-17-doc, below $docs_root or .cache/docs"
	ensure_docs postgresql-doc-15 postgresql-doc-15/html/index.html
	ensure_docs python3.11-doc python3.11/html/index.html
	ensure_docs apache2-doc apache2-doc/manual/en/index.html
	ensure_docs openjdk-17-doc openjdk-17-jre-headless/api/index.html
fi
[ "${1:-}" != bench ] || ensure_bench
