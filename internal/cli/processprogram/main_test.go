package processprogram

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, func() { os.Exit(Main()) }) }

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
		c := clitest.Command(t, "", append([]string{"-c", filepath.Join("..", "..", "..", "ini", "processor-task.ini")}, tt.args...)...)
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

// The program starts for a few pages on small machines, too. Libraries may not fill large
// tables before there is a page that needs them.
func TestStartIsSmall(t *testing.T) {
	c := clitest.Command(t, "", "--help")
	c.Env = append(c.Env, "GODEBUG=inittrace=1")
	_, trace, status := clitest.Output(t, c)
	total := 0
	for _, m := range regexp.MustCompile(`(?m)^init .* (\d+) bytes, `).FindAllStringSubmatch(trace, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if status != 0 || total == 0 || total > 16<<20 {
		t.Errorf("status %d, packages allocate %d bytes before main:\n%s", status, total, trace)
	}
}

// A file of the original is accepted, with one warning for its log.
func TestOriginalFile(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"db-task.ini": "[Application]\ndata_dir = " + folder + "\n[TasksManager]\ndb_driver = sqlite\n",
		"processor-task.ini": "[Application]\nlog = ../ini/processor-task_log.ini\ndata_dir = " + folder +
			"\n[ProcessorTask]\nraw_data_dir = data\ndb-task_ini = db-task.ini\nalgorithmsModel = 0\ndb_host = 127.0.0.1\ndb_port = 3306\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, stderr, status := clitest.Output(t, clitest.Command(t, "", "-c", filepath.Join(folder, "processor-task.ini"), "--check-config"))
	if status != 0 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "processor-task.ini, line 2: key log") {
		t.Errorf("status %d: %s", status, stderr)
	}
}
