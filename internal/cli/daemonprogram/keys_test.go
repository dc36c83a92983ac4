package daemonprogram

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/config"
	"hce/dc/internal/daemon"
)

// Each key of [Application] and [StatusServer] has its effect, and an invalid value is refused
// with key, value and range.
func TestKeysOfApplicationAndStatusServer(t *testing.T) {
	type all struct {
		app config.Application
		cfg daemon.Config
	}
	cases := []struct {
		section, key, value string
		reached             func(all) bool
		wrong, refusal      string // "" for keys that take any text
	}{
		{"Application", "name", "n7", func(a all) bool { return a.app.Name == "n7" }, "", ""},
		{"Application", "data_dir", "d", func(a all) bool { return a.app.DataDir == "/x/d" }, "", ""},
		{"Application", "log", "sub/l.log", func(a all) bool { return a.app.Log.File == "/data/sub/l.log" }, "", ""},
		{"Application", "log_level", "warning", func(a all) bool { return a.app.Log.Level == slog.LevelWarn }, "loud", "is not one of debug, info, warning, error"},
		{"Application", "log_format", "json", func(a all) bool { return a.app.Log.Format == "json" }, "xml", "is not one of text, json"},
		{"Application", "instantiateSequence", "A, B", func(a all) bool { return slices.Equal(a.cfg.Sequence, []string{"A", "B"}) }, "", ""},
		{"Application", "PeersMemory", "2000000", func(a all) bool { return a.cfg.PeersMemory == 2000000 }, "1000", "is not a whole number from 1048576 to 1073741824"},
		{"StatusServer", "StatusHost", "::1", func(a all) bool { return a.cfg.Status.Host == "::1" }, "", ""},
		{"StatusServer", "StatusPort", "0", func(a all) bool { return a.cfg.Status.Port == 0 }, "65536", "is not a whole number from 0 to 65535"},
		{"StatusServer", "AllowInsecureRemoteAccess", "1", func(a all) bool { return a.cfg.Status.AllowInsecure }, "perhaps", "is not 0 or 1"},
		{"StatusServer", "StatusMinFree", "5", func(a all) bool { return a.cfg.Status.MinFree == 5 }, "-1", "is not a whole number from 0 to "},
	}
	readAll := func(section, key, value string) (all, *config.File) {
		t.Helper()
		text := "[Application]\ndata_dir = /data\n"
		if key == "data_dir" {
			text = ""
		}
		f, err := config.Parse("/x/dc-daemon.ini", []byte(text+"["+section+"]\n"+key+" = "+value+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		app := f.Application("dc-daemon", "stderr")
		return all{app, dcDaemon.readSettings(f, app)}, f
	}
	tested := map[string]bool{"Application DRCENodes": true} // TestNumberOfNodes
	for _, tc := range cases {
		tested[tc.section+" "+tc.key] = true
		t.Run(tc.section+" "+tc.key, func(t *testing.T) {
			before, _ := readAll(tc.section, tc.key, "")
			after, f := readAll(tc.section, tc.key, tc.value)
			if f.Err() != nil || tc.reached(before) || !tc.reached(after) {
				t.Errorf("%v; without it %v, with it %v", f.Err(), tc.reached(before), tc.reached(after))
			}
			if tc.wrong == "" {
				return
			}
			kept, f := readAll(tc.section, tc.key, tc.wrong)
			err := f.Err()
			if err == nil || tc.reached(kept) {
				t.Fatalf("error %v", err)
			}
			for _, want := range []string{"[" + tc.section + "] " + tc.key, `"` + tc.wrong + `"`, tc.refusal} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %v", want, err)
				}
			}
		})
	}
	// Every key of the two sections is tested here.
	f, err := config.Load("../../../ini/dc-daemon.ini")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range []string{"Application", "StatusServer"} {
		for _, key := range f.Keys(section) {
			if !tested[section+" "+key] {
				t.Errorf("[%s] %s has no test", section, key)
			}
		}
	}
}
