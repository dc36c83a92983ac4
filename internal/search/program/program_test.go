package program

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/config"
)

func ini(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hce-search.ini")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The shipped file has all keys, no unknown ones, and the built-in defaults.
func TestShippedIni(t *testing.T) {
	shipped, err := read("../../../ini/hce-search.ini")
	if err != nil {
		t.Fatal(err)
	}
	builtIn, err := read(ini(t, ""))
	if err != nil || len(shipped.warnings) > 0 {
		t.Fatal(err, shipped.warnings)
	}
	shipped.app.DataDir, builtIn.app.DataDir = "", ""
	if !reflect.DeepEqual(shipped, builtIn) {
		t.Errorf("shipped\n%+v\nbuilt in\n%+v", shipped, builtIn)
	}
	text, err := os.ReadFile("../../../ini/hce-search.ini")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("settings.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range regexp.MustCompile(`c\.[A-Z]\w+\("(\w+)"`).FindAllStringSubmatch(string(code), -1) {
		if !strings.Contains(string(text), "\n"+key[1]+" =") {
			t.Errorf("ini/hce-search.ini has no key %s", key[1])
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"[Frontend]\naddress = 0.0.0.0":                       "allow_insecure",
		"[Frontend]\naddress = example.org":                   "not an address",
		"[Processor]\nkinds = pages, films":                   "films",
		"[Manager]\nqueue = 0":                                "queue",
		"[Application]\nlog_format = xml":                     "line",
		"[Feed]\ninterval = 0":                                "interval",
		"[Processor]\nconnections = 65\n[Manager]\nport = 99": "connections",
	} {
		if _, err := read(ini(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := read(ini(t, "[Frontend]\naddress = 0.0.0.0\nallow_insecure = 1")); err != nil {
		t.Error(err)
	}
	if _, err := read("/nowhere/hce-search.ini"); err == nil || errors.Is(err, config.ErrNoFile) {
		t.Error(err)
	}
}

var linePattern = regexp.MustCompile(`^\[\d\d:\d\d:\d\d\.\d{3}\] hce-search \[\d+\]\[\d+\]: (DEBUG|INFO|WARN|ERROR): .+\n$`)

// A record is one line in the format of the specification, whatever is in it.
func TestLogLine(t *testing.T) {
	var out bytes.Buffer
	level := new(slog.LevelVar)
	log := slog.New(newLines("hce-search")(&out, &slog.HandlerOptions{Level: level})).With("manager", "m").WithGroup("g")
	log.Debug("not written")
	log.Warn("cannot open", "file", "a b\n[00:00:00.000] x [1][1]: INFO: forged", "n", 3, "took", time.Second)
	log.Error("two\nlines")
	text := out.String()
	for line := range strings.Lines(text) {
		if !linePattern.MatchString(line) {
			t.Errorf("%q", line)
		}
	}
	if strings.Count(text, "\n") != 2 || !strings.Contains(text, ` WARN: cannot open manager=m g.file="a b\n[00:00:00.000] x [1][1]: INFO: forged" g.n=3 g.took=1s`) {
		t.Error(text)
	}
	level.Set(slog.LevelDebug)
	log.Debug("written")
	if !strings.Contains(out.String(), "DEBUG: written") {
		t.Error(out.String())
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "1": 1, "64": 64, "0": -1, "65": -1, "x": -1, "1.5": -1} {
		n, err := number("--n", text, 1, 64)
		if want < 0 != (err != nil) || err == nil && n != want {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}
