package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// start runs the server in this process and returns its address.
func start(t *testing.T, ctx context.Context, stdin io.Reader, args ...string) (address string, ended <-chan error) {
	t.Helper()
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := runServer(ctx, args, stdin, write, io.Discard)
		write.CloseWithError(io.EOF)
		done <- err
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("no first line: %v, run: %v", err, <-done)
	}
	match := regexp.MustCompile(`^listening on (http://127\.0\.0\.1:\d+/)\n$`).FindStringSubmatch(line)
	if match == nil {
		t.Fatalf("first line %q", line)
	}
	return match[1], done
}

func TestServesUntilCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	log := filepath.Join(t.TempDir(), "log")
	address, ended := start(t, ctx, strings.NewReader(""), "-log", log)
	resp, err := http.Get(address + "town/mill.html")
	if err != nil || resp.StatusCode != 200 {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(log); err != nil || bytes.Count(text, []byte("\n")) != 1 {
		t.Errorf("log %q, %v", text, err)
	}
}

func TestEndsWithStdin(t *testing.T) {
	stdin, hold := io.Pipe()
	_, ended := start(t, context.Background(), stdin, "-exit-on-stdin", "-dir", t.TempDir())
	hold.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRejectsArguments(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown flag":            {"-nosuch"},
		"argument":                {"surplus"},
		"missing folder":          {"-dir", "/nonexistent"},
		"file as folder":          {"-dir", "main.go"},
		"no such address":         {"-addr", "256.0.0.1:0"},
		"log in a missing folder": {"-log", "/nonexistent/log"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := runServer(context.Background(), args, strings.NewReader(""), io.Discard, io.Discard); err == nil {
				t.Error("no error")
			}
		})
	}
}
