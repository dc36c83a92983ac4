#!/bin/bash
# corpus.sh FOLDER fetches and prepares the pages that the models are trained with:
#   FOLDER/docs     pages of documentation packages of Debian 12, whose generators mark the content
#   FOLDER/taught   pages of articles from the tests of public packages, with the text that the old chain finds
# The third folder, the development half of WCXB, is unpacked by hand (docs/models.md). Needs apt-get, dpkg-deb, python3,
# go, npm and git. Versions are those that the archives serve; docs/models.md names the ones that were used.
set -euo pipefail
[ $# = 1 ] || { echo "usage: corpus.sh FOLDER" >&2; exit 2; }
tools=$(cd "$(dirname "$0")" && pwd)
root=$(git -C "$tools" rev-parse --show-toplevel)
mkdir -p "$1"; cd "$1"; folder=$PWD

packages="
allegro5-doc ant-doc antlr4-doc apache2-doc apt-doc aptitude-doc-en asciidoctor-doc augeas-doc awesome-doc
bacula-doc beets-doc bind9-doc buildbot-doc c2hs-doc cimg-doc cinder-doc clang-14-doc clisp-doc cmake-doc
cmocka-doc cppreference-doc-en-html crystal-doc csound-doc db5.3-doc dblatex-doc debian-edu-doc-de
debian-edu-doc-en debian-edu-doc-fr debian-edu-doc-ja debian-faq debian-handbook debian-history
debian-kernel-handbook debian-policy debian-reference-en debmake-doc developers-reference diffutils-doc
dita-ot-doc docbook-xsl-doc-html docutils-doc doxygen-doc exim4-doc-html fai-doc ffmpeg-doc flex-doc
fontforge-doc fop-doc frr-doc gap-doc ghostscript-doc gi-docgen-doc git-doc glance-doc gnuplot-doc gnutls-doc
gradle-doc groonga-doc groovy-doc gtkmm-documentation harden-doc icu-doc imagemagick-6-doc info java-policy
junit4-doc kea-doc keystone-doc kicad-doc-en knot-doc krb5-doc libadwaita-1-doc libapt-pkg-doc libassimp-doc
libatk1.0-doc libatkmm-1.6-doc libbatteries-ocaml-doc libbluray-doc libboost1.81-doc libcairo2-doc
libcairomm-1.0-doc libcamera-doc libcgicc-doc libcommons-collections4-java-doc libcommons-io-java-doc
libcommons-lang3-java-doc libdaemon-doc libeigen3-doc libeliom-ocaml-doc libflac-doc libgcrypt20-doc
libgda-5.0-doc libgdk-pixbuf2.0-doc libghc-aeson-doc libghc-attoparsec-doc libghc-conduit-doc libghc-lens-doc
libghc-pandoc-doc libghc-vector-doc libgimp2.0-doc libgit2-glib-1.0-doc libglib2.0-doc libglibmm-2.4-doc
libgmime-3.0-doc libgtk-3-doc libgtkmm-3.0-doc libjsoup-java-doc libjts-java-doc libmongoc-doc libmpfr-doc
libnghttp2-doc libnotify-doc liboasis-ocaml-doc libocamlgraph-ocaml-doc libpango1.0-doc libpangomm-1.4-doc
libpoppler-glib-doc libreoffice-help-en-us librsvg2-doc libsdl2-doc libservlet-api-java-doc libshumate-doc
libsigc++-2.0-doc libsigc++-3.0-doc libsoup-3.0-doc libsoup2.4-doc libstdc++-12-doc libtag1-doc libtheora-doc
libtiff-doc libusb-1.0-doc libvirt-doc libwayland-doc libx11-doc libxcb-doc libxml++2.6-doc libxml2-doc
libzarith-ocaml-doc lilypond-doc-html llvm-14-doc lua-sql-doc m4-doc maint-guide maxima-doc mit-scheme-doc
mkdocs-doc mkdocs-literate-nav-doc netcdf-doc neutron-doc nim-doc nodejs-doc nova-doc ntpsec-doc nut-doc
ocsigenserver-doc octave-doc openjdk-17-doc pelican-doc postgresql-doc-15 pybind11-doc python-aiohttp-doc
python-attr-doc python-babel-doc python-black-doc python-bottle-doc python-click-doc python-cryptography-doc
python-dask-doc python-django-doc python-flask-doc python-h5py-doc python-ipython-doc python-jinja2-doc
python-markdown-doc python-mpmath-doc python-nbsphinx-doc python-oslo.config-doc python-pandas-doc
python-psycopg2-doc python-pygments-doc python-scrapy-doc python-setuptools-doc python-sqlparse-doc
python-tables-doc python-werkzeug-doc python-xarray-doc python3.11-doc qtbase5-doc-html
qtdeclarative5-doc-html qtmultimedia5-doc-html qtsvg5-doc-html qttools5-doc-html qtxmlpatterns5-doc-html
r-doc-html rust-doc sbcl-doc
"
biggest=16000000 # bytes of a package; rust-doc alone may be bigger

fetch_packages() {
	mkdir -p deb; cd deb
	for p in $packages; do
		compgen -G "${p}_*.deb" >/dev/null || apt-get download -q "$p" >/dev/null || echo "not served: $p" >&2
	done
	cd ..
}

# unpack_pages writes at most 40 pages of each package, chosen by the hash of their names, to pages/PACKAGE/.
unpack_pages() {
	python3 - "$biggest" <<'PYTHON'
import glob, hashlib, os, subprocess, sys, tarfile
for deb in sorted(glob.glob('deb/*.deb')):
    package = os.path.basename(deb).split('_')[0]
    out = 'pages/' + package
    if os.path.exists(out) or os.path.getsize(deb) > int(sys.argv[1]) and package != 'rust-doc':
        continue
    source = subprocess.Popen(['dpkg-deb', '--fsys-tarfile', deb], stdout=subprocess.PIPE)
    best = []
    archive = tarfile.open(fileobj=source.stdout, mode='r|')
    for m in archive:
        if m.isfile() and m.name.lower().endswith(('.html', '.htm')) and 1500 <= m.size <= 300000:
            h = hashlib.md5((package + m.name).encode()).hexdigest()
            if len(best) < 40 or h < best[-1][0]:
                best = sorted(best + [(h, m.name, archive.extractfile(m).read())])[:40]
    source.stdout.close()
    source.wait()
    os.makedirs(out)
    for _, name, text in best:
        with open(out + '/' + name.strip('./').replace('/', '%'), 'wb') as f:
            f.write(text)
PYTHON
}

# fetch_articles downloads the packages whose tests are pages of articles, and writes articles.jsonl, one line a page.
fetch_articles() {
	mkdir -p articles; cd articles
	cat >go.mod <<-MOD
		module articles
		go 1.26
	MOD
	for m in github.com/markusmobius/go-trafilatura@v1.12.2 github.com/markusmobius/go-htmldate@v1.10.1 \
		codeberg.org/readeck/go-readability/v2@v2.1.3 github.com/advancedlogic/GoOse@v0.0.0-20191112112754-e742535969c1; do
		GOFLAGS=-mod=mod go mod download "$m"
	done
	for p in unfluff@3.2.0 readability-js@1.0.7; do
		npm pack --silent "$p" >/dev/null
		mkdir -p "${p%@*}"; tar -xzf "${p%@*}"-*.tgz -C "${p%@*}"
	done
	python3 "$tools/articles.py" "$(go env GOMODCACHE)" . >articles.jsonl
	cd ..
}

# teach builds the old chain with its rule for doubtful pages off, and writes taught/.
teach() {
	git -C "$root" worktree add --detach "$folder/old" b5b1086
	sed -i 's/if float64(o.prose(best)) < doubtShare\*float64(whole) {/if o.prose(best) < 250 \&\& float64(o.prose(best)) < doubtShare*float64(whole) {/' old/internal/process/article/choose.go
	mkdir -p old/cmd/teacher
	sed '/^\/\/go:build ignore/d' "$tools/teacher/main.go" >old/cmd/teacher/main.go
	(cd old && go run ./cmd/teacher "$folder/articles/articles.jsonl" "$folder/taught")
	git -C "$root" worktree remove --force "$folder/old"
}

fetch_packages
unpack_pages
(cd "$tools" && go run . mark "$folder/pages" "$folder/docs")
fetch_articles
teach
