package config

import (
	"strings"
	"testing"
	"time"
)

// everything reads one key of each kind.
func everything(f *File) {
	a := f.Section("A")
	a.Text("text", "t")
	a.Int("number", 5, 0, 9)
	a.Int("own", 0, 1, 9)
	a.Duration("span", time.Second, 1500*time.Millisecond, 0, time.Hour)
	a.Bool("switch", true)
	a.Path("path", "here")
	a.PathIn("/data", "inside", "there")
	a.Command("program", "../bin/x -c 'a b'")
	a.Names("names", []string{"p", "q"})
	a.Text("db_pwd", "")
	a.Text("db_dsn", "")
	a.Accept("old", "absent")
	f.Section("B").Choice("word", "red", "red", "green")
	f.Section("B").Networks("nets")
}

func TestEffective(t *testing.T) {
	f := parsed(t, `; first line
[A]
number = 1
number = 7
path = sub
db_pwd = very secret
old = 1
odd = 1
program = x --key=`+"`1`"+` + 2
[B]
nets = 10.0.0.0/8
`, map[string]string{"DC_A_text": " from outside ", "DC_A_db_dsn": "user:other secret@tcp(h)/"})
	everything(f)
	var b strings.Builder
	if err := f.WriteEffective(&b); err != nil {
		t.Fatal(err)
	}
	const want = "[A]\n" +
		"; /opt/dc/ini/dc.ini, line 4\nnumber = 7\n" +
		"; /opt/dc/ini/dc.ini, line 5\npath = /opt/dc/ini/sub\n" +
		"; /opt/dc/ini/dc.ini, line 6\ndb_pwd = ********\n" +
		"; /opt/dc/ini/dc.ini, line 7\n; it has no effect here\nold = 1\n" +
		"; /opt/dc/ini/dc.ini, line 9\nprogram = x --key=`1` + 2\n" +
		"; environment variable DC_A_db_dsn\ndb_dsn = ********\n" +
		"; default\ninside = /data/there\n" +
		"; default\nnames = p, q\n" +
		"; default, the program's own\nown =\n" +
		"; default\nspan = 1.5\n" +
		"; default\nswitch = 1\n" +
		"; environment variable DC_A_text\ntext = from outside\n" +
		"; /opt/dc/ini/dc.ini, line 8: unknown, without effect: odd\n" +
		"\n[B]\n" +
		"; /opt/dc/ini/dc.ini, line 11\nnets = 10.0.0.0/8\n" +
		"; default\nword = red\n"
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
	if strings.Contains(b.String(), "secret") {
		t.Error("a secret is shown")
	}
	// The effective configuration, read as an ini file, has the same effect.
	again := parsed(t, b.String(), nil)
	everything(again)
	for section, keys := range f.used {
		for i, u := range keys {
			if got := again.used[section][i]; got.key != u.key || got.value != u.value && !isSecret(u.key) {
				t.Errorf("read again: %+v, was %+v", got, u)
			}
		}
	}
	if p := f.Programs(); len(p) != 1 || p[0] != (Program{"A", "program", "x"}) {
		t.Errorf("programs %+v", p)
	}
}

// The error of an invalid secret does not show it.
func TestRefusedSecret(t *testing.T) {
	f := parsed(t, "[A]\nserverSecretKey = hush\n", nil)
	f.Section("A").Choice("serverSecretKey", "", "x")
	if err := f.Err(); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("error %v", err)
	}
	for key, want := range map[string]bool{"db_pwd": true, "Password": true, "db_dsn": true, "serverKey": true, "keys_file": false, "serverKeyFile": false, "data_dir": false, "key_value_storage_dir": false} {
		if isSecret(key) != want {
			t.Errorf("secret(%q) = %v", key, !want)
		}
	}
}
