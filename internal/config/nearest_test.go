package config

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{
		"serverPort", "serverHost", "AllowInsecureRemoteAccess", "Mode", "RegularCrawlingPeriod", "RegularCrawlingMode",
		"BatchDefaultMaxURLs", "BatchDefaultMaxTasks", "log", "LOG_LEVEL", "AgingMode", "aging",
	}
	for name, want := range map[string]string{
		"serverPrt":                "serverPort",
		"SERVERHOST":               "serverHost", // another case
		"Modus":                    "Mode",
		"BatchDefaultMaxURL":       "BatchDefaultMaxURLs",
		"DefaultMaxTasks":          "BatchDefaultMaxTasks",
		"CrawlingPeriod":           "RegularCrawlingPeriod", // contains the name
		"RegularCrawlingModeNow":   "RegularCrawlingMode",
		"LOGLEVEL":                 "LOG_LEVEL",
		"lgo":                      "",
		"quite different":          "",
		"x":                        "",
		"":                         "",
		strings.Repeat("a", 1<<20): "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("Nearest(%.30q) = %q, want %q", name, got, want)
		}
	}
	if got := Nearest("anything", nil); got != "" {
		t.Errorf("without known names: %q", got)
	}
	if got := Nearest("key0", []string{"key2", "key1"}); got != "key1" {
		t.Errorf("with two equally near names: %q", got)
	}
}

// Unknown suggests a key of the same section with another case, then an equal key of
// another section, then a similar key.
func TestUnknownKeysAndSections(t *testing.T) {
	f := parsed(t, "[A]\nslots_crawl = 1\nperoid = 2\nMODE = 1\n[Enviroment]\nx = 1\n", nil)
	f.Section("A").Int("period", 1, 0, 9)
	f.Section("A").Bool("mode", false)
	f.Section("Environment").Int("slots_crawl", 1, 0, 9)
	want := []string{
		f.Path + ", line 2: key slots_crawl of section [A] is unknown; did you mean slots_crawl of section [Environment]?",
		f.Path + ", line 3: key peroid of section [A] is unknown; did you mean period?",
		f.Path + ", line 4: key MODE of section [A] is unknown; did you mean mode?",
		f.Path + ", line 5: section [Enviroment] is unknown; did you mean Environment?",
	}
	if got := f.Unknown(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("unknown:\n%s", strings.Join(got, "\n"))
	}
}
