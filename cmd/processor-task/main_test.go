package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets a test start this program as a process.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_RUNS_MAIN") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestFinalize: with --finalize, and only with it, the program is the last stage of
// batches in real time.
func TestFinalize(t *testing.T) {
	home := t.TempDir()
	left := filepath.Join(home, "dc_rdata", ".realtime", "old-1")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	const batch = `{"id":7,"crawlerType":4,"dbMode":1,"items":[]}` + "\n"
	for _, tt := range []struct {
		args     []string
		in, want string
	}{
		{[]string{"--finalize"}, batch + `{"forget":{"others":"new"}}` + "\n" + `{"id":8,"items":[]}`, `{"contents":[],"grades":[],"again":null}|{}|{"errorCode":1`},
		{nil, batch, `{"crawlerType":4`},
	} {
		c := exec.Command(os.Args[0], append([]string{"-c", filepath.Join("..", "..", "ini", "processor-task.ini")}, tt.args...)...)
		c.Env = append(os.Environ(), "TEST_RUNS_MAIN=1", "DC_Application_data_dir="+home)
		c.Stdin = strings.NewReader(tt.in)
		var out, words bytes.Buffer
		c.Stdout, c.Stderr = &out, &words
		if err := c.Run(); err != nil {
			t.Fatalf("%v: %s", err, words.String())
		}
		if got := strings.ReplaceAll(out.String(), "\n", "|"); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q answers %s", tt.args, got)
		}
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the leftovers are there: %v", err)
	}
}
