package curvekeys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The first start creates both pairs, readable by their owner only; later starts keep them.
func TestEnsureOperators(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data", "keys")
	if _, _, err := ReadOperator(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("before the first start: %v", err)
	}
	old := unix.Umask(0)
	server, list, created, err := EnsureOperators(folder)
	unix.Umask(old)
	if err != nil || !created {
		t.Fatalf("created %t, %v", created, err)
	}
	for name, mode := range map[string]os.FileMode{
		"": 0o700, "daemon.key": 0o600, "daemon.pub": 0o644, "operators": 0o700, "operators/admin.key": 0o600, "operators/admin.pub": 0o644,
	} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	public, own, err := ReadOperator(folder)
	if err != nil || public != server.Public {
		t.Fatalf("%s, want %s, %v", public, server.Public, err)
	}
	if ok, err := list.Allowed(own.Public); !ok || err != nil || list.Len() != 1 {
		t.Errorf("allowed %t of %d, %v", ok, list.Len(), err)
	}
	if again, _, created, err := EnsureOperators(folder); again != server || created || err != nil {
		t.Errorf("again: %v, created %t, %v", again, created, err)
	}

	// A kill after the first file of a pair, and a lost key.
	for _, lost := range []string{"daemon.pub", "operators/admin.pub", "operators/admin.key"} {
		if err := os.Remove(filepath.Join(folder, lost)); err != nil {
			t.Fatal(err)
		}
		again, list, created, err := EnsureOperators(folder)
		if again != server || created != (lost == "operators/admin.key") || err != nil {
			t.Fatalf("without %s: %v, created %t, %v", lost, again, created, err)
		}
		_, own, err := ReadOperator(folder)
		if err != nil {
			t.Fatalf("without %s: %v", lost, err)
		}
		if ok, err := list.Allowed(own.Public); !ok || err != nil {
			t.Errorf("without %s: allowed %t, %v", lost, ok, err)
		}
	}
	if err := os.Chmod(filepath.Join(folder, "daemon.key"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := EnsureOperators(folder); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others may read: %v", err)
	}
}

// Another user gets the name of the file that it cannot read, and what to do.
func TestOperatorsOfAnotherUser(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "keys")
	if _, _, _, err := EnsureOperators(folder); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		runtime.LockOSThread() // the thread ends with the test
		if err := unix.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer unix.Setfsuid(0)
	} else if err := os.Chmod(folder, 0); err != nil {
		t.Fatal(err)
	} else {
		defer os.Chmod(folder, 0o700)
	}
	_, _, err := ReadOperator(folder)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), folder+"/daemon.pub: permission denied; run dc-admin as the user of dc-daemon") {
		t.Errorf("%v", err)
	}
}
