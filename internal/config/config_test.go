package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const sample = `
; a comment
[Application]
data_dir = ../there
[Batch]
Period = 2.5
Tasks = 7
Modus = 1
Command = ../bin/crawler-task -c "my ini.ini" --name='a b'
Where = Status=1 AND State=0 # no comment, SQL
Networks = 127.0.0.0/8, ::1
[Other]
x = 1
`

func parsed(t *testing.T, text string, env map[string]string) *File {
	t.Helper()
	f, err := Parse("/opt/dc/ini/dc.ini", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f.getenv = func(k string) string { return env[k] }
	return f
}

// The original's log is the name of a logging configuration. It is never opened as a log, whether
// it exists or not.
func TestLogOfTheOriginal(t *testing.T) {
	for value, want := range map[string]string{
		"../ini/db-task_log.ini": "/d/log/x.log", "/etc/crawler-task_log.ini": "/d/log/x.log", "other.ini": "/d/log/x.log",
		"log/own.log": "/d/log/own.log", "/var/log/dc.log": "/var/log/dc.log", "stderr": "",
	} {
		f := parsed(t, "[Application]\ndata_dir=/d\nlog="+value+"\n", nil)
		a := f.Application("x", "log/x.log")
		if a.Log.File != want || f.Err() != nil {
			t.Errorf("%s: log %q, %v, want %q", value, a.Log.File, f.Err(), want)
		}
		warned := strings.Contains(strings.Join(f.Unknown(), "\n"), "key log of section [Application] = "+value+" names a logging configuration")
		if warned != strings.HasSuffix(value, ".ini") {
			t.Errorf("%s: warnings %q", value, f.Unknown())
		}
	}
}

func TestValues(t *testing.T) {
	f := parsed(t, sample+"[Batch]\nTicks = `State`=1 AND `Status`>0 + 1\n", map[string]string{"DC_Batch_Tasks": "9"})
	a := f.Application("dc", "stderr")
	if a.DataDir != "/opt/dc/there" || a.Log.File != "" {
		t.Errorf("application = %+v", a)
	}
	b := f.Section("Batch")
	if d := b.Duration("Period", time.Second, time.Minute, 0, time.Hour); d != 2500*time.Millisecond {
		t.Errorf("Period = %v", d)
	}
	if n := b.Int("Tasks", 1, 0, 10); n != 9 {
		t.Errorf("the environment variable is ignored: Tasks = %d", n)
	}
	program, args := b.Command("Command", "")
	if program != "/opt/dc/bin/crawler-task" || !reflect.DeepEqual(args, []string{"-c", "my ini.ini", "--name=a b"}) {
		t.Errorf("Command = %q %q", program, args)
	}
	if w := b.Text("Where", ""); w != "Status=1 AND State=0 # no comment, SQL" {
		t.Errorf("Where = %q", w)
	}
	if w := b.Text("Ticks", ""); w != "`State`=1 AND `Status`>0 + 1" {
		t.Errorf("Ticks = %q", w)
	}
	if n := b.Networks("Networks"); len(n) != 2 || n[1].String() != "::1/128" {
		t.Errorf("Networks = %v", n)
	}
	if b.Bool("Mode", true) != true {
		t.Error("a default is ignored")
	}
	if err := f.Err(); err != nil {
		t.Error(err)
	}
	want := []string{"/opt/dc/ini/dc.ini, line 12: section [Other] is unknown", "/opt/dc/ini/dc.ini, line 8: key Modus of section [Batch] is unknown; did you mean Mode?"}
	if got := f.Unknown(); !reflect.DeepEqual(got, want) {
		t.Errorf("unknown = %q", got)
	}
}

func TestRefusals(t *testing.T) {
	f := parsed(t, "[S]\nn = many\nd = 99\nb = maybe\nc = 'open\nw = blue\na = 300.1.1.1\n", nil)
	s := f.Section("S")
	s.Int("n", 1, 0, 9)
	s.Duration("d", time.Second, time.Second, 0, 10*time.Second)
	s.Bool("b", false)
	s.Command("c", "x")
	s.Choice("w", "red", "red", "green")
	s.Networks("a")
	err := f.Err()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"[S] n = \"many\" is not a whole number from 0 to 9", "[S] d = \"99\" is not a number from 0 to 10", "0 or 1", "command line", "red, green", "300.1.1.1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

func TestLoadAndFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if _, err := findFile("dc-x", ""); err == nil || !strings.Contains(err.Error(), "dc-x.ini") || strings.Contains(err.Error(), "\n") {
		t.Errorf("no file: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "none.ini")); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("missing file: %v", err)
	}
	if err := os.WriteFile("dc-x.ini", []byte("[A\nb"), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := findFile("dc-x", "")
	if err != nil || path != "dc-x.ini" {
		t.Errorf("find = %q, %v", path, err)
	}
	if _, err := Load(path); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("broken file: %v", err)
	}
	if _, err := Load(dir); err == nil {
		t.Error("a folder is read as a file")
	}
}
