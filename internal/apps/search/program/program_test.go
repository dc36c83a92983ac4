package program

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

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
	shipped, err := readSettings("../../../../ini/hce-search.ini")
	if err != nil {
		t.Fatal(err)
	}
	builtIn, err := readSettings(ini(t, ""))
	if err != nil || len(shipped.file.Unknown()) > 0 {
		t.Fatal(err, shipped.file.Unknown())
	}
	shipped.app.DataDir, builtIn.app.DataDir = "", ""
	shipped.file, builtIn.file = nil, nil
	if !reflect.DeepEqual(shipped, builtIn) {
		t.Errorf("shipped\n%+v\nbuilt in\n%+v", shipped, builtIn)
	}
	text, err := os.ReadFile("../../../../ini/hce-search.ini")
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
		if _, err := readSettings(ini(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := readSettings(ini(t, "[Frontend]\naddress = 0.0.0.0\nallow_insecure = 1")); err != nil {
		t.Error(err)
	}
	if _, err := readSettings("/nowhere/hce-search.ini"); err == nil || errors.Is(err, config.ErrNoFile) {
		t.Error(err)
	}
}

// log_format = line gives lines of package seedlog, with the level of the ini file.
func TestLogLine(t *testing.T) {
	s, err := readSettings(ini(t, "[Application]\nlog_format = line\nlog_level = warning"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log, end, err := s.openLog(&out)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	log.Info("not written")
	log.Warn("cannot open", "n", 3)
	if !regexp.MustCompile(`^\[\d\d:\d\d:\d\d\.\d{3}\] hce-search \[\d+\]: WARN: cannot open n=3\n$`).MatchString(out.String()) {
		t.Error(out.String())
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "1": 1, "64": 64, "0": -1, "65": -1, "x": -1, "1.5": -1} {
		n, err := parseNumber("--n", text, 1, 64)
		if want < 0 != (err != nil) || err == nil && n != want {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}
