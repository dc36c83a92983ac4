package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, main) }

// With --finalize, and only with it, the program is the last stage of real-time batches.
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
		c := clitest.Command(t, "", append([]string{"-c", filepath.Join("..", "..", "ini", "processor-task.ini")}, tt.args...)...)
		c.Env = append(c.Env, "DC_Application_data_dir="+home)
		c.Stdin = strings.NewReader(tt.in)
		stdout, stderr, status := clitest.Output(t, c)
		if got := strings.ReplaceAll(stdout, "\n", "|"); status != 0 || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q: status %d, %s, answers %s", tt.args, status, stderr, got)
		}
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the raw files of an earlier run remain: %v", err)
	}
}
