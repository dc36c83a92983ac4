#!/bin/bash
# Crawls real wikis, blogs, git viewers and listings on the loopback, with and without the rules that the summary of
# hce crawl names, and prints a table for docs/traps.md. Run it by make bench-wikis, as root; needs the packages below.
#   scripts/wikis.sh [NAME...]     names: dokuwiki mediawiki wordpress wordpress-theme-twentytwentythree cgit gitweb apache2 nginx lighttpd python
set -euo pipefail
packages="dokuwiki mediawiki wordpress wordpress-theme-twentytwentythree cgit gitweb apache2 nginx-light lighttpd php-cli php-sqlite3 php-mysql php-xml php-mbstring php-intl mariadb-server-core git python3"
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
most=${MOST:-2000} # URLs of a crawl
pids=()
# Servers are leaders of process groups: the workers of PHP outlive it, and answer for the next server on their port.
trap 'for p in "${pids[@]}"; do kill -- "-$p" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$work"' EXIT

command -v lighttpd >/dev/null && [ -d /usr/share/dokuwiki ] || DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $packages >/dev/null

text() { # text NAME: a paragraph that no other name has
	awk -v seed="$(cksum <<<"$1" | cut -d' ' -f1)" 'BEGIN { x = seed; for (i = 0; i < 60; i++) { w = ""; for (k = 0; k < 5; k++) { x = (x * 69069 + 12345) % 4294967296; w = w sprintf("%c", 97 + int(x / 65536) % 16) } printf "%s ", w } print "" }'
}
serve() { # serve PORT COMMAND...: starts a server and waits for its port
	local port=$1; shift
	if (exec 3<>/dev/tcp/127.0.0.1/"$port") 2>/dev/null; then echo "port $port is in use" >&2; exit 1; fi
	setsid "$@" >"$work/server$port.log" 2>&1 &
	pids+=($!)
	for _ in $(seq 300); do (exec 3<>/dev/tcp/127.0.0.1/"$port") 2>/dev/null && return; sleep 0.1; done
	echo "$* does not listen on $port: $(tail -3 "$work/server$port.log")" >&2; exit 1
}
version() { dpkg-query -W -f '${Version}' "$1" | sed 's/^[0-9]*://; s/[+-].*//'; }
php_serve() { PHP_CLI_SERVER_WORKERS=3 serve "$1" php -d opcache.enable_cli=1 -d display_errors=0 -S "127.0.0.1:$1" -t "$2"; }

# measure NAME VERSION URL USEFUL [OPTION...]: one row of the table. USEFUL is an expression of the URLs of useful pages.
measure() {
	local name=$1 version=$2 url=$3 useful=$4; shift 4
	local data="$work/data-${name%% *}" rules=("$@") round=0 row
	row="| $name $version |"
	while :; do
		rm -rf "$data"
		"$top/bin/hce" crawl "$url" --json --delay 0s --max-pages "$most" --allow-network 127.0.0.0/8 --data "$data" "${rules[@]}" >"$work/$name.json" 2>"$work/$name.log" || [ $? -eq 1 ] || { cat "$work/$name.log" >&2; exit 1; }
		local site pages asked kinds more
		python3 - "$work/$name.json" >"$work/$name.facts" <<-'P'
		import json, sys
		s = json.loads(open(sys.argv[1]).readlines()[-1])  # the event done
		print(s["site"])
		print(s["urls"], "(limit)" if s["siteBits"] else "")
		print(", ".join("%s %d" % (t["kind"], t["urls"]) for t in s["traps"]) or "none")
		for pair in dict.fromkeys(tuple(t["options"]) for t in s["traps"]):
		    print("\n".join(pair))
		P
		mapfile -t more <"$work/$name.facts"
		site=${more[0]} asked=${more[1]} kinds=${more[2]} more=("${more[@]:3}")
		"$top/bin/hce" export "$site" --data "$data" --format jsonl --fields url --noindex >"$work/$name.urls" 2>/dev/null
		pages=$(grep -cE "\"[^\"]*($useful)\"" "$work/$name.urls" || true)
		[ $round -eq 0 ] && row="$row $pages | $asked | $kinds |"
		[ -z "${KEEP:-}" ] || cp "$work/$name.json" "$KEEP/$name.$round.json"
		[ -z "${KEEP:-}" ] || cp "$work/$name.urls" "$KEEP/$name.$round.urls"
		round=$((round + 1))
		if [ ${#more[@]} -eq 0 ] || [ $round -gt 3 ]; then
			echo "$row $pages | $asked | $((round - 1)) | $kinds |"
			return
		fi
		rules+=("${more[@]}")
	done
}

# Packages have links to files that their installation would make: cp skips those.
dokuwiki() {
	local d=$work/doku
	cp -rL /usr/share/dokuwiki "$d"; cp -rL /var/lib/dokuwiki/data "$d/data"; cp -rL /etc/dokuwiki "$d/conf"; rm -f "$d/conf/local.php" "$d/conf/"*.dist
	printf '<?php $conf["title"]="W"; $conf["useacl"]=0; $conf["indexdelay"]=0; $conf["savedir"]="%s/data"; $conf["sitemap"]=0;' "$d" >"$d/conf/local.php"
	printf '<?php define("DOKU_CONF","%s/conf/");' "$d" >"$d/inc/preload.php"
	rm -f "$d/install.php"
	for i in $(seq 0 39); do
		for version in 1 2; do
			printf '====== Page %s ======\n\n%s\n\n[[p%s]] [[p%s]]\n' "$i" "$(text "d$i$version")" $((2 * i + 1)) $((2 * i + 2)) | sed 's/\[\[p[4-9][0-9]\]\]//g' >"$work/page.txt"
			[ $version = 2 ] && [ $((i % 4)) -ne 0 ] && continue
			name=p$i; [ "$i" = 0 ] && name=start
			(cd "$d" && php bin/dwpage.php commit -m "edit" "$work/page.txt" "$name" >/dev/null 2>&1) || { echo "dwpage failed" >&2; exit 1; }
		done
	done
	php_serve 8401 "$d"
	measure dokuwiki "$(version dokuwiki)" http://127.0.0.1:8401/doku.php 'doku.php\?id=[a-z0-9:]*|/doku.php'
}

mediawiki() {
	local d=$work/mw
	cp -rL /usr/share/mediawiki "$d" 2>/dev/null || true; rm -f "$d/LocalSettings.php"; mkdir "$work/mwdata"
	(cd "$d" && php maintenance/install.php --dbtype sqlite --dbpath "$work/mwdata" --dbname w --scriptpath "" --server http://127.0.0.1:8402 --confpath "$d" --pass "Secret-phrase-17" W Admin >"$work/mw.log" 2>&1) || { tail -5 "$work/mw.log" >&2; exit 1; }
	mkdir "$work/mwpages"
	for i in $(seq 0 29); do
		for version in 1 2; do
			[ $version = 2 ] && [ $((i % 4)) -ne 0 ] && continue
			printf '%s\n\n[[Page %s]] [[Page %s]]\n' "$(text "m$i$version")" $((2 * i + 1)) $((2 * i + 2)) | sed 's/\[\[Page [3-9][0-9]\]\]//g' >"$work/mwpages/Page $i.txt"
			[ $version = 2 ] || [ $((i % 4)) -ne 0 ] || (cd "$d" && php maintenance/importTextFiles.php --overwrite -u Admin "$work/mwpages/Page $i.txt" >/dev/null 2>&1)
		done
		echo "* [[Page $i]]" >>"$work/Main Page.txt"
	done
	(cd "$d" && php maintenance/importTextFiles.php --overwrite -u Admin "$work/mwpages"/*.txt "$work/Main Page.txt" >/dev/null 2>&1)
	php_serve 8402 "$d"
	measure mediawiki "$(version mediawiki)" http://127.0.0.1:8402/index.php/Main_Page 'index.php/(Page_[0-9]+|Main_Page)'
}

wordpress() {
	local d=$work/wp
	cp -rL /usr/share/wordpress "$d" 2>/dev/null || true; mkdir "$work/db"
	mariadb-install-db --auth-root-authentication-method=normal --user=root --datadir="$work/db" >/dev/null 2>&1
	serve 8493 mariadbd --no-defaults --user=root --datadir="$work/db" --port=8493 --bind-address=127.0.0.1 --socket="$work/db.sock" --innodb-flush-log-at-trx-commit=0
	mariadb --no-defaults -uroot -S "$work/db.sock" -e "CREATE DATABASE wp"
	cat >"$d/wp-config.php" <<-P
	<?php
	define('DB_NAME','wp'); define('DB_USER','root'); define('DB_PASSWORD',''); define('DB_HOST','localhost:$work/db.sock'); define('DB_CHARSET','utf8mb4'); define('DB_COLLATE','');
	\$table_prefix='wp_'; define('WP_DEBUG',false); define('DISABLE_WP_CRON',true); define('WP_HTTP_BLOCK_EXTERNAL',true);
	if (!defined('ABSPATH')) define('ABSPATH', __DIR__.'/');
	require_once ABSPATH.'wp-settings.php';
	P
	cat >"$work/fill.php" <<-'P'
	<?php
	define('WP_INSTALLING', true); $_SERVER['HTTP_HOST']='127.0.0.1:8403'; $_SERVER['REQUEST_URI']='/';
	require $argv[1].'/wp-load.php'; require_once ABSPATH.'wp-admin/includes/upgrade.php';
	wp_install('W','admin','a@example.org',true,'','Secret-phrase-17');
	update_option('siteurl','http://127.0.0.1:8403'); update_option('home','http://127.0.0.1:8403');
	for ($i=0;$i<40;$i++) {
		mt_srand($i); $words=[]; for ($k=0;$k<60;$k++) { $w=''; for ($c=0;$c<5;$c++) $w.=chr(97+mt_rand(0,15)); $words[]=$w; }
		$id=wp_insert_post(['post_title'=>"Post $i",'post_content'=>implode(' ',$words),'post_status'=>'publish','post_author'=>1,'post_date'=>sprintf('2024-%02d-%02d 10:00:00',$i%12+1,$i%28+1),'tags_input'=>['tag'.($i%5),'tag'.($i%7)]]);
		if ($i%3==0) for ($k=0;$k<2;$k++) wp_insert_comment(['comment_post_ID'=>$id,'comment_content'=>"comment $k on $i",'comment_approved'=>1,'comment_author'=>"r$k"]);
	}
	P
	php "$work/fill.php" "$d" >"$work/fill.log" 2>&1 || { tail -5 "$work/fill.log" >&2; exit 1; }
	php_serve 8403 "$d"
	measure wordpress "$(version wordpress)" http://127.0.0.1:8403/ '\?p=[0-9]+|\?page_id=[0-9]+|8403/'
}

repository() { # a repository with 30 commits of 8 files
	[ -d "$work/git/r.git" ] && return
	mkdir -p "$work/git"; git init -q "$work/src"
	for i in $(seq 30); do
		text "g$i" >"$work/src/f$((i % 8)).txt"; mkdir -p "$work/src/d$((i % 3))"; text "h$i" >"$work/src/d$((i % 3))/x.txt"
		git -C "$work/src" add -A; GIT_COMMITTER_DATE="2024-01-$(printf %02d "$i") 10:00" git -C "$work/src" -c user.name=a -c user.email=a@example.org commit -qm "commit $i" --date "2024-01-$(printf %02d "$i") 10:00"
	done
	git clone -q --bare "$work/src" "$work/git/r.git"
}
lighttpd_cgi() { # lighttpd_cgi PORT CGI VARIABLE FILE
	cat >"$work/lighttpd$1.conf" <<-P
	server.modules = ("mod_cgi", "mod_setenv", "mod_alias")
	server.port = $1
	server.bind = "127.0.0.1"
	server.document-root = "$work"
	alias.url = ("/cgi" => "$2")
	cgi.assign = ("" => "")
	setenv.set-environment = ("$3" => "$4")
	P
	serve "$1" lighttpd -D -f "$work/lighttpd$1.conf"
}
cgit() {
	repository
	printf 'virtual-root=/cgi/\nenable-commit-graph=0\nscan-path=%s\n' "$work/git" >"$work/cgitrc"
	lighttpd_cgi 8404 /usr/lib/cgit/cgit.cgi CGIT_CONFIG "$work/cgitrc"
	measure cgit "$(version cgit)" http://127.0.0.1:8404/cgi/ '/cgi/r.git/(tree|commit|log|about|refs)?(/[a-z0-9.]+)*/?(\?id=[0-9a-f]+)?' --property ROBOTS_META=0
}
gitweb() {
	repository
	printf '$projectroot = "%s"; $site_name = "W";\n' "$work/git" >"$work/gitweb.conf"
	lighttpd_cgi 8405 /usr/share/gitweb/gitweb.cgi GITWEB_CONFIG "$work/gitweb.conf"
	measure gitweb "$(version gitweb)" http://127.0.0.1:8405/cgi '\?p=r.git;a=(commit|tree|blob|summary|log)[^"]*' --property ROBOTS_META=0
}

listing() { # 13 folders with 6 files each
	[ -d "$work/files" ] && return
	for i in $(seq 0 12); do
		dir=$work/files; for d in $(seq 1 $((i % 4))); do dir=$dir/d$i-$d; done
		mkdir -p "$dir"; for f in 1 2 3 4 5 6; do text "l$i-$f" >"$dir/f$i-$f.txt"; done
	done
}
files='/|\.txt'
apache2() {
	listing
	cat >"$work/apache.conf" <<-P
	ServerRoot /etc/apache2
	PidFile $work/apache.pid
	ErrorLog $work/apache.log
	Listen 127.0.0.1:8406
	ServerName 127.0.0.1
	LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
	LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
	LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
	LoadModule autoindex_module /usr/lib/apache2/modules/mod_autoindex.so
	TypesConfig /etc/mime.types
	User www-data
	Group www-data
	DocumentRoot $work/files
	<Directory $work/files>
	Options +Indexes
	IndexOptions FancyIndexing
	Require all granted
	</Directory>
	P
	chmod 755 "$work"
	serve 8406 /usr/sbin/apache2 -f "$work/apache.conf" -DFOREGROUND
	measure apache2 "$(version apache2)" http://127.0.0.1:8406/ "$files"
}
nginx() {
	listing
	printf 'daemon off; pid %s/nginx.pid; error_log %s/nginx.log; events {} http { access_log off; include /etc/nginx/mime.types; server { listen 127.0.0.1:8407; root %s/files; autoindex on; } }' "$work" "$work" "$work" >"$work/nginx.conf"
	chmod 755 "$work"
	serve 8407 /usr/sbin/nginx -c "$work/nginx.conf"
	measure nginx "$(version nginx)" http://127.0.0.1:8407/ "$files"
}
lighttpd_listing() {
	listing
	printf 'server.modules=("mod_dirlisting")\nserver.port=8408\nserver.bind="127.0.0.1"\nserver.document-root="%s/files"\ndir-listing.activate="enable"\nmimetype.assign=(".txt"=>"text/plain")\n' "$work" >"$work/list.conf"
	serve 8408 lighttpd -D -f "$work/list.conf"
	measure lighttpd "$(version lighttpd)" http://127.0.0.1:8408/ "$files"
}
python() {
	listing
	serve 8409 python3 -m http.server 8409 --bind 127.0.0.1 --directory "$work/files"
	measure "python3 http.server" "$(version python3)" http://127.0.0.1:8409/ "$files"
}

echo "| software | useful pages | URLs asked | traps named, with their URLs | useful pages with the rules | URLs asked | rounds | traps left |"
echo "|---|---|---|---|---|---|---|---|"
for name in ${*:-dokuwiki mediawiki wordpress wordpress-theme-twentytwentythree cgit gitweb apache2 nginx lighttpd python}; do
	[ "$name" = lighttpd ] && name=lighttpd_listing
	$name
done
