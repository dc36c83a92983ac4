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
# .cache/promtool is a program whose package is too large to install, .cache/versitygw-VERSION
# one that is built, .cache/node_modules has the JavaScript packages.
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

# --- Object storage -----------------------------------------------------------------

# ensure_versitygw builds versitygw, the store with the protocol of Amazon S3 of the tests, in the version of tools/go.mod.
ensure_versitygw() {
	version=$(sed -n 's|.*github.com/versity/versitygw \(v[^ ]*\).*|\1|p' tools/go.mod)
	[ ! -x "$cache/versitygw-$version" ] || return 0
	say "building versitygw $version into .cache"
	mkdir -p "$cache"
	(cd tools && quietly env GOFLAGS= go build -o "$cache/versitygw.new" github.com/versity/versitygw/cmd/versitygw) ||
		fail "versitygw could not be built"
	rm -f "$cache"/versitygw-*
	mv "$cache/versitygw.new" "$cache/versitygw-$version"
}

# --- JavaScript -----------------------------------------------------------------------

# npm_packages lists the packages that the tests load: a line for each, with name, version and
# the SHA-256 of its archive. What the tests load of the first ones needs no other package; the others are the client of the Model
# Context Protocol, a validator of OpenAPI, the reference of Standard Webhooks and the compiler of TypeScript with what they need.
npm_packages='hyparquet 1.31.5 5fb6b118fcbc4575771204acd0aa5cab532f40be92339094b7cc756d79830ab5
fzstd 0.1.1 5ed2ee2d3439067be211d0093292c708a831045372342c897437e5a4997c45c5
replaywebpage 2.5.3 b7d35c39c4da9b7121c5a393911d8675d4cc6f19513c380191e16b086bea812c
warcio 2.4.11 144a55b7bf093071300123e581c42978912ea600cda252074f6ddecc3a3a6ce5
@modelcontextprotocol/client 2.4.0 55c36d1e1ee68f34b614f6f75cc1f5d9a3c6506faa0ab1ced833745244170de7
@modelcontextprotocol/core 2.4.0 e0c1eb59e43eeb6c9912e8f4dbd0c473976cdd4dda21f9473958d2bd15e3a98c
@seriousme/openapi-schema-validator 2.11.0 70f69d93ee8a9fd7ac0dbbef98288a49c3120ce7076006e5ff336e131266cd2e
@stablelib/base64 1.0.1 0130711d2e0d3f87436c7825db1f35bd6134fba2eda64b0df43d781f9b6a596a
ajv-draft-04 1.0.0 b2328acf9b3a5b1b3a098789770c2dd34ed86b5913c904c056091ec10319c2e7
ajv-formats 3.0.1 f4d6980fd367381fd29199066911e863db8d97496613b6c2c5b91563a150acc5
ajv 8.20.0 b2f0b3a893bbb8cc5efb6814f08b1499e19e31d5dd73683f5893382f48f6e7b3
cross-spawn 7.0.6 188c320cdc413adfec03098fda72af7a9b02152ba13d3a8f87f172d93ced38ea
eventsource-parser 3.1.1 44a0a0ca6cecea76ac47de3e73414ceb32dbbfb8f3b6408906d81170c68e36ed
eventsource 3.0.7 7c62d4bb196e59b39c5af79e550d6fe4261649a74d9f5e605b071e1da6081c92
fast-deep-equal 3.1.3 b019a0980f27638dc3f85836b0e478f188e00d7a6e5852c0819fa86f56e47b8f
fast-sha256 1.3.0 4f897ea2594dc9cfb1250e7d4d0f65b4f105952a802fff2d06990bf1dc2c84f6
fast-uri 3.1.9 4f5a67f7b61110aae7b3ad38e806627f5712f4c150bd38eb804a562e69a9ee5e
isexe 2.0.0 47cfe872e088e28c53b736fef305324b57cc1cfc9f72a9b0f769f92731cb8359
jose 6.2.18 74f10b4021f84c0f926bcdd9fac19baf37bb6e555692fd8a106abade3ba39204
json-schema-traverse 1.0.0 023222622df29fc274bde5d3590e47aa1d4a8e3c1d6e2aba029948ed79799b21
path-key 3.1.1 4b8999acb914830edcd3c5b8fec632b32c6bc759ac3edc86336f5a9e08ba7b92
pkce-challenge 5.0.1 d1fcbbae5bc05562d13de7c520c2951699e8262a8317fa6c8bbcd8dcff3bea70
require-from-string 2.0.2 cb694a4965908f7775a0c757f00cf4e624d193cd71d77988fbcca0f597b88d82
shebang-command 2.0.0 9acba5bd18a51e9cdf5898380e4df63f803e1844def64ae1a46f88cff86d556e
shebang-regex 3.0.0 fedbabaa6db26c6be0183f82777dfa852d59a62f8885de93bd32ebc28758958f
standardwebhooks 1.1.1 d0bc8fec280c9e30ea3cbc876f44fe71d56f443aeca2bd2bdf745718308d4aed
typescript 5.9.3 10e108c9cf7d5f2879053dff18515fb405abf2ccef63eaaf017d9c571687a1d3
which 2.0.2 a13adf5fddeb769655edce551e81fbb11904b9c9be76d95e41da8c4c499d4edc
yaml 2.9.1 4ef6c54cf559b8a207b7b518378230805a1c84af239b14960e8c67c7d59de5d3
zod 4.6.7 84efd155bed93270286e793fc951be270b536cbd5b0eeb111f0fa3967201d698'

# ensure_python installs what the Python client and the example of a ZMQ client need, for the python3 of Debian.
ensure_python() {
	/usr/bin/python3 -c 'import httpx, zmq' 2>/dev/null || install_packages python3-httpx python3-zmq
}

# ensure_npm_packages unpacks them into .cache/node_modules. It runs none of their scripts.
ensure_npm_packages() {
	missing=
	while read -r module version sum; do
		[ -e "$cache/node_modules/$module/version-$version" ] || missing="$missing $module@$version"
	done <<-END
		$npm_packages
	END
	[ -n "$missing" ] || return 0
	found npm || install_packages npm
	say "unpacking$missing into .cache/node_modules"
	rm -rf "$cache/npm"
	mkdir -p "$cache/npm" "$cache/node_modules"
	# shellcheck disable=SC2086 # a word for each package
	(cd "$cache/npm" && quietly npm pack $missing) || fail "npm packages could not be fetched:$missing"
	while read -r module version sum; do
		[ ! -e "$cache/node_modules/$module/version-$version" ] || continue
		archive=$(printf '%s' "${module#@}-$version.tgz" | tr / -)
		rm -rf "$cache/node_modules/$module" "$cache/npm/package"
		(cd "$cache/npm" && echo "$sum  $archive" | quietly sha256sum -c && mkdir package && tar -xzf "$archive" --strip-components=1 -C package) ||
			fail "the npm package $module $version has another SHA-256 than $sum"
		touch "$cache/npm/package/version-$version"
		mkdir -p "$(dirname "$cache/node_modules/$module")"
		mv "$cache/npm/package" "$cache/node_modules/$module"
	done <<-END
		$npm_packages
	END
	rm -rf "$cache/npm"
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
	ensure_versitygw
	ensure_npm_packages
	ensure_python
	command -v apt-get >/dev/null 2>&1 ||
		have_docs postgresql-doc-15/html/index.html ||
		fail "the tests need the documentation in Debian's packages postgresql-doc-15, python3.11-doc, apache2-doc and openjdk-17-doc, below $docs_root or .cache/docs"
	ensure_docs postgresql-doc-15 postgresql-doc-15/html/index.html
	ensure_docs python3.11-doc python3.11/html/index.html
	ensure_docs apache2-doc apache2-doc/manual/en/index.html
	ensure_docs openjdk-17-doc openjdk-17-jre-headless/api/index.html
fi
[ "${1:-}" != bench ] || ensure_bench
