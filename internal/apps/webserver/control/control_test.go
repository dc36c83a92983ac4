package control

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func start(t *testing.T, answer func(Request) Reply) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil { // as a killed server leaves it
		t.Fatal(err)
	}
	l, err := Listen(folder)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Serve(ctx, l, answer) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			t.Error("the socket stays")
		}
	})
	return folder
}

func TestRequests(t *testing.T) {
	folder := start(t, func(r Request) Reply {
		if r.Command != "off" {
			return Reply{Error: "unknown command " + r.Command}
		}
		return Reply{Text: "off: " + r.Reason, Data: []byte(`{"a":1}`)}
	})
	if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	r, err := Ask(t.Context(), folder, Request{"off", "x\ny"})
	if err != nil || r.Error != "" || r.Text != "off: x\ny" || string(r.Data) != `{"a":1}` {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := Ask(t.Context(), folder, Request{Command: "x"}); err != nil || r.Error != "unknown command x" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestHostileRequests(t *testing.T) {
	folder := start(t, func(Request) Reply { t.Error("answered"); return Reply{} })
	for text, want := range map[string]string{
		"hello\n": `{"error":"the request is no JSON`, "[]\n": `{"error":"the request is no JSON`, strings.Repeat("x", maxRequest+1): "",
	} {
		c, err := net.Dial("unix", filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, text)
		if b, _ := io.ReadAll(c); !strings.HasPrefix(string(b), want) || (len(b) == 0) != (want == "") {
			t.Errorf("%.20q: %q", text, b)
		}
		_ = c.Close()
	}
}

func TestNoServer(t *testing.T) {
	if _, err := Ask(t.Context(), t.TempDir(), Request{}); err == nil || !strings.Contains(err.Error(), "hce-webserver serve") {
		t.Error(err)
	}
	if _, err := Listen(filepath.Join(t.TempDir(), strings.Repeat("x", 200))); err == nil || !strings.Contains(err.Error(), "shorter") {
		t.Error(err)
	}
}
