package api

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
)

// readSettings reads the section of an ini file; "": the shipped one.
func readSettings(t *testing.T, text string) (*Server, *config.File) {
	t.Helper()
	path, err := filepath.Abs("../../ini/dc-daemon.ini")
	if err != nil {
		t.Fatal(err)
	}
	var f *config.File
	if text == "" {
		f, err = config.Load(path)
	} else {
		f, err = config.Parse(path, []byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	var cfg daemon.Config
	Settings(f, f.Application("dc-daemon", "stderr"), &cfg, "1")
	if len(cfg.Services) == 0 {
		return nil, f
	}
	return cfg.Services[0].(*Server), f
}

// The shipped values are the defaults, and each key of the section is known. Wrong values and unknown keys are named.
func TestSettings(t *testing.T) {
	shipped, f := readSettings(t, "")
	for _, line := range f.Unknown() {
		if strings.Contains(line, "[Api]") {
			t.Error(line)
		}
	}
	defaults, _ := readSettings(t, "[Api]\n")
	if shipped == nil || defaults == nil || !reflect.DeepEqual(shipped.cfg, defaults.cfg) {
		t.Errorf("shipped %+v\ndefault %+v", shipped, defaults)
	}
	if off, _ := readSettings(t, "[Api]\nApiPort = 0\n"); off != nil {
		t.Error("ApiPort = 0 starts the API")
	}
	_, f = readSettings(t, "[Api]\nApiPort = many\nAllowedNetworks = here\nApiPrt = 1\n")
	if err := f.Err(); err == nil || !strings.Contains(err.Error(), "ApiPort") || !strings.Contains(err.Error(), "AllowedNetworks") {
		t.Errorf("%v", err)
	}
	if unknown := strings.Join(f.Unknown(), "\n"); !strings.Contains(unknown, "ApiPrt") {
		t.Errorf("%s", unknown)
	}
}
