package curvekeys

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is a time that the test changes.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func list(t *testing.T, path string) (*List, *clock) {
	t.Helper()
	c := &clock{time.Now()}
	l, err := openList(path, c.now)
	if err != nil {
		t.Fatal(err)
	}
	return l, c
}

func (l *List) expect(t *testing.T, public string, ok bool, wrong string) {
	t.Helper()
	got, err := l.Allowed(public)
	if got != ok || (err != nil) != (wrong != "") || err != nil && !strings.Contains(err.Error(), wrong) {
		t.Errorf("%t, %v; want %t, %q", got, err, ok, wrong)
	}
}

func TestListFollowsItsFile(t *testing.T) {
	a, b := generate(t).Public, generate(t).Public
	path := write1(t, filepath.Join(t.TempDir(), "clients"), "# who may come\n"+a+" alice\n", 0o644)
	l, c := list(t, path)
	l.expect(t, a, true, "")
	l.expect(t, b, false, "")
	l.expect(t, "", false, "")

	write1(t, path, a+"\n"+b+"\n", 0o644)
	l.expect(t, b, true, "") // at once

	write1(t, path, b+"\n", 0o644)
	c.pass(trusted)
	l.expect(t, a, false, "")
	l.expect(t, b, true, "")

	// The same size and, with a coarse clock, the same time stamp.
	write1(t, path, a+"\n", 0o644)
	l.expect(t, a, true, "")
	l.expect(t, b, false, "")

	// An invalid line affects neither other keys nor removed keys.
	write1(t, path, b+"\nno key\n", 0o644)
	l.expect(t, b, true, "line 2 of "+path)
	l.expect(t, a, false, "line 2 of "+path)

	for name, damage := range map[string]func(){
		"gone":            func() { _ = os.Remove(path) },
		"file too large":  func() { write1(t, path, b+strings.Repeat("\n", maxFile), 0o644) },
		"writable by all": func() { write1(t, path, b, 0o666) },
		"folder":          func() { _ = os.Remove(path); _ = os.Mkdir(path, 0o700) },
	} {
		damage()
		c.pass(trusted)
		if ok, _ := l.Allowed(b); ok {
			t.Errorf("%s: key accepted", name)
		}
		_ = os.RemoveAll(path)
		write1(t, path, b, 0o644)
		l.expect(t, b, true, "")
	}
}

// An old file is not read again for each check.
func TestListReadsAnOldFileOnce(t *testing.T) {
	a, b := generate(t).Public, generate(t).Public
	path := write1(t, filepath.Join(t.TempDir(), "clients"), a, 0o644)
	l, c := list(t, path)
	c.pass(time.Hour)
	l.expect(t, b, false, "")
	first := l.read
	c.pass(time.Hour)
	l.expect(t, a, true, "")
	l.expect(t, b, false, "")
	if l.read != first {
		t.Error("the unchanged file was read again")
	}
}

func TestListOfAFolder(t *testing.T) {
	folder := t.TempDir()
	pairs := map[string]Pair{}
	for _, name := range []string{"alice", "bob"} {
		pairs[name] = generate(t)
		if _, err := pairs[name].Write(folder, name, false); err != nil {
			t.Fatal(err)
		}
	}
	more := generate(t).Public
	write1(t, filepath.Join(folder, "notes.txt"), more, 0o644)
	write1(t, filepath.Join(folder, ".hidden.pub"), more, 0o644)
	l, c := list(t, folder)
	if l.Len() != 2 {
		t.Errorf("%d keys", l.Len())
	}
	l.expect(t, pairs["alice"].Public, true, "")
	l.expect(t, more, false, "")
	write1(t, filepath.Join(folder, "office.pub"), more+" carol\n"+generate(t).Public+" dave\n", 0o644)
	l.expect(t, more, true, "")
	if err := os.Remove(filepath.Join(folder, "alice.pub")); err != nil {
		t.Fatal(err)
	}
	c.pass(trusted)
	l.expect(t, pairs["alice"].Public, false, "")
	l.expect(t, pairs["bob"].Public, true, "")
	if err := os.Chmod(folder, 0o707); err != nil {
		t.Fatal(err)
	}
	c.pass(trusted)
	l.expect(t, pairs["bob"].Public, false, "everybody")
}

func TestRefusedLists(t *testing.T) {
	key := generate(t)
	var many strings.Builder
	raw, _ := decodeKey(key.Public)
	for i := range maxKeys + 1 {
		raw[0], raw[1], raw[2] = byte(i), byte(i>>8), byte(i>>16)
		many.WriteString(encodeKey(raw) + "\n")
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":         {"# nobody yet\n", "no public key"},
		"slip":          {key.Public + "\n" + key.Public[1:] + "\n", "line 2"},
		"secret":        {"secret " + key.Secret + "\n", "a secret key instead"},
		"too many keys": {many.String(), "more than 10000"},
	} {
		path := write1(t, filepath.Join(t.TempDir(), "clients"), c.text, 0o644)
		if _, err := OpenList(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenList(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file is accepted")
	}
	folder := t.TempDir()
	for i := range maxFiles + 1 {
		write1(t, filepath.Join(folder, fmt.Sprintf("%d.pub", i)), key.Public, 0o644)
	}
	if _, err := OpenList(folder); err == nil || !strings.Contains(err.Error(), "more than 1000 files") {
		t.Error(err)
	}
}

func TestListForSeveralGoroutines(t *testing.T) {
	a := generate(t).Public
	path := write1(t, filepath.Join(t.TempDir(), "clients"), a, 0o644)
	l, err := OpenList(path)
	if err != nil {
		t.Fatal(err)
	}
	var joined sync.WaitGroup
	for range 4 {
		joined.Go(func() {
			for range 200 {
				if ok, err := l.Allowed(a); !ok || err != nil {
					t.Errorf("%t, %v", ok, err)
				}
				_, _ = l.Allowed("b")
			}
		})
	}
	joined.Wait()
}
