package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	siteserver "hce/dc/examples/siteserver/site"
	"hce/dc/internal/childprocess"
)

// server is a running web server with a log of requests. Its lines are those of
// examples/siteserver. Every program is counted by this log, so all are counted alike.
type server struct {
	root *url.URL
	log  string // file
}

// nginx has one process without a master, so that it ends with the benchmark.
var nginxConfig = template.Must(template.New("nginx").Parse(`daemon off;
master_process off;
pid {{.Dir}}/pid;
error_log stderr;
events { worker_connections 512; }
http {
	types {
		text/html html htm; text/css css; application/javascript js; application/json json;
		image/png png; image/gif gif; image/jpeg jpg jpeg; image/svg+xml svg; text/plain txt;
	}
	map $msec $ns { "~^(?<s>[0-9]+)\.(?<ms>[0-9]+)$" "$s${ms}000000"; }
	log_format requests escape=json '{"start":$ns,"end":$ns,"path":"$request_uri","code":$status,"bytes":$body_bytes_sent}';
	access_log {{.Dir}}/requests requests;
	sendfile on;
	keepalive_requests 1000000;
	client_body_temp_path {{.Dir}}/t1; proxy_temp_path {{.Dir}}/t2; fastcgi_temp_path {{.Dir}}/t3;
	uwsgi_temp_path {{.Dir}}/t4; scgi_temp_path {{.Dir}}/t5;
	server { listen 127.0.0.1:{{.Port}}; root "{{.Root}}"; index index.html; }
}
`))

// startNginx serves folder until ctx ends. dir is for nginx itself.
func startNginx(ctx context.Context, folder, dir string) (server, error) {
	program, err := findProgram("nginx")
	if err != nil {
		return server{}, fmt.Errorf("%w; run scripts/setup.sh bench", err)
	}
	ports, release, err := childprocess.FreePorts(1)
	if err != nil {
		return server{}, fmt.Errorf("start nginx: %w", err)
	}
	defer release() // nginx listens, or has ended
	var config bytes.Buffer
	if err := nginxConfig.Execute(&config, map[string]any{"Dir": dir, "Root": folder, "Port": ports[0]}); err != nil {
		return server{}, fmt.Errorf("start nginx: %w", err)
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, config.Bytes(), 0o600); err != nil {
		return server{}, fmt.Errorf("start nginx: %w", err)
	}
	var talk bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "-p", dir, "-c", file, "-e", "stderr")
	cmd.Stderr = &talk
	ended, err := childprocess.Start(cmd)
	if err != nil {
		return server{}, fmt.Errorf("start nginx: %w", err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	if err := awaitConnections(ctx, "tcp", address, ended); err != nil {
		return server{}, fmt.Errorf("start nginx: %w: %s", err, &talk)
	}
	return server{&url.URL{Scheme: "http", Host: address, Path: "/"}, filepath.Join(dir, "requests")}, nil
}

// awaitConnections waits until a server accepts connections. It fails if the server ends.
func awaitConnections(ctx context.Context, network, address string, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		conn, err := net.Dial(network, address)
		if err == nil {
			return conn.Close()
		}
		select {
		case err := <-ended:
			return errors.Join(errors.New("it has ended"), err)
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// findProgram finds a program. Servers are not in everyone's PATH.
func findProgram(names ...string) (string, error) {
	for _, name := range names {
		for _, folder := range []string{"", "/usr/sbin", "/usr/local/sbin"} {
			if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("the program %s is missing", names[0])
}

// traffic is what a program has requested.
type traffic struct {
	requests int
	pages    int       // different URLs of pages with code 200
	first    time.Time // start of the first request
}

// logSize is the size of the log, for trafficSince.
func (s server) logSize() (int64, error) {
	info, err := os.Stat(s.log)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// trafficSince counts the requests behind an offset of the log.
func (s server) trafficSince(offset int64) (traffic, error) {
	var t traffic
	file, err := os.Open(s.log)
	if err != nil {
		return t, err
	}
	defer file.Close()
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return t, err
	}
	pages := map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r siteserver.Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return t, fmt.Errorf("read %s: %w", s.log, err)
		}
		if t.requests == 0 {
			t.first = time.Unix(0, r.Start)
		}
		t.requests++
		path, _, _ := strings.Cut(r.Path, "?")
		if r.Code == 200 && (strings.HasSuffix(path, "/") || strings.HasSuffix(path, ".html")) {
			pages[r.Path] = true
		}
	}
	t.pages = len(pages)
	return t, lines.Err()
}
