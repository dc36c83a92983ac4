#!/usr/bin/env bash
# wget 1.21.3 and aria2 1.36.0 (Debian 12) do not send the HttpOnly cookies of a cookies.txt, and wget writes domains with a port into its own.
#
# Expected (curl's page about the format: a line that begins with "#HttpOnly_" is a cookie, only lines with another "#" are comments; RFC 6265 8.5:
# cookies belong to a host, not to a port): the server gets "id" and "lang". A jar that wget has written is read by other tools.
# Seen: only "lang". Cookies of sessions usually are HttpOnly, so a jar that curl or an extension of a browser has written opens no session, without a
# word. In a jar of wget the domain is "127.0.0.1:PORT" for a server at another port than 80: aria2 and Python's http.cookiejar send nothing.
#
# Needs apt-get, dpkg, Python 3 (3.10 or later) and the libraries of aria2 (apt-get install aria2 has them). It fails if the behaviour has changed.
set -euo pipefail
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT
cd "$dir"
for package in wget=1.21.3-1+deb12u1 aria2=1.36.0-1 libaria2-0=1.36.0-1 libc-ares2; do
	apt-get download -q "$package" >/dev/null 2>&1
done
for package in *.deb; do
	dpkg -x "$package" .
done
libraries=$(dirname "$(find "$dir/usr/lib" -name 'libaria2.so.0')")
cat >server.py <<'PY'
import http.server

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        if self.path == "/login":
            self.send_header("Set-Cookie", "lang=en; Path=/; Max-Age=1000")
        self.end_headers()
        self.wfile.write((self.headers.get("Cookie") or "no cookie").encode())

    def log_message(self, *args):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print("port", server.server_port, flush=True)
server.serve_forever()
PY
/usr/bin/python3 server.py >server.log &
server=$!
until port=$(grep -oE '[0-9]+' server.log) && [ -n "$port" ]; do sleep 0.1; done
with_wget() { usr/bin/wget -q -O - --load-cookies "$1" "http://127.0.0.1:$port/"; }
with_aria2() {
	LD_LIBRARY_PATH=$libraries usr/bin/aria2c -q --no-conf --load-cookies="$1" --allow-overwrite=true -o answer "http://127.0.0.1:$port/"
	cat answer
}
with_python() {
	/usr/bin/python3 - "$1" "http://127.0.0.1:$port/" <<'PY'
import http.cookiejar, sys, urllib.request
jar = http.cookiejar.MozillaCookieJar(sys.argv[1])
jar.load()
print(urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar)).open(sys.argv[2]).read().decode())
PY
}
printf '# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t4102444800\tlang\ten\n#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t4102444800\tid\t7\n' >curl.txt
usr/bin/wget -q -O /dev/null --save-cookies wget.txt "http://127.0.0.1:$port/login"
seen=$(for jar in curl wget; do
	for tool in wget aria2 python; do echo "$jar.txt with $tool: $("with_$tool" "$jar.txt" | sed 's/;$//')"; done
done)
echo "$seen"
[ "$seen" = "curl.txt with wget: lang=en
curl.txt with aria2: lang=en
curl.txt with python: lang=en; id=7
wget.txt with wget: lang=en
wget.txt with aria2: no cookie
wget.txt with python: no cookie" ] || { echo "the behaviour has changed" >&2; exit 1; }
