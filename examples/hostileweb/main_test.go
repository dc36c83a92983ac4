package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestFlags(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want error
		says string // on stdout
	}{
		"help":     {[]string{"--help"}, flag.ErrHelp, "Usage: hostileweb"},
		"list":     {[]string{"--list"}, nil, "/body/gzip-bomb"},
		"unknown":  {[]string{"--no-such"}, errUsage, ""},
		"argument": {[]string{"x"}, errUsage, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out, talk strings.Builder
			err := runServer(t.Context(), c.args, &out, &talk)
			if !errors.Is(err, c.want) || !strings.Contains(out.String(), c.says) || c.want == errUsage && talk.Len() == 0 {
				t.Errorf("error %v, said %.200q and %.200q", err, out.String(), talk.String())
			}
		})
	}
}

func TestServesUntilCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	dir := t.TempDir()
	go func() {
		ended <- runServer(ctx, []string{"--listen", "127.0.0.1:0", "--dns", "127.0.0.1:0", "--log", filepath.Join(dir, "log"), "--authority", filepath.Join(dir, "ca")}, in, io.Discard)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	lines.Scan()
	root, ok := strings.CutPrefix(lines.Text(), "listening on ")
	if !ok {
		t.Fatalf("said %q", lines.Text())
	}
	hosts, dns := 0, false
	for !dns && lines.Scan() {
		hosts++
		dns = strings.HasPrefix(lines.Text(), "answering DNS on ")
	}
	resp, err := http.Get(root)
	if err != nil || resp.StatusCode != http.StatusOK || hosts < 30 {
		t.Errorf("%v, %d lines", err, hosts)
	}
	if err == nil {
		resp.Body.Close()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
