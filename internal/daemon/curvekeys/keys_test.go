package curvekeys

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	zmq "github.com/pebbe/zmq4"
)

func generate(t *testing.T) Pair {
	t.Helper()
	p, err := Generate()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func write1(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// Keys are compatible with those of libzmq in both directions.
func TestAgreesWithLibzmq(t *testing.T) {
	for range 50 {
		public, secret, err := zmq.NewCurveKeypair()
		if err != nil {
			t.Fatal(err)
		}
		p, err := fromSecret(secret)
		if err != nil || p.Public != public {
			t.Fatalf("secret %s: %v, %v, want %s", secret, p, err, public)
		}
		own := generate(t)
		if theirs, err := zmq.AuthCurvePublic(own.Secret); err != nil || theirs != own.Public {
			t.Fatalf("%v: libzmq says %s, %v", own, theirs, err)
		}
		raw, _ := decodeKey(own.Public)
		if string(raw) != zmq.Z85decode(own.Public) || encodeKey(raw) != own.Public {
			t.Fatalf("%v is %x", own, raw)
		}
	}
}

func TestValid(t *testing.T) {
	good := generate(t).Public
	for text, want := range map[string]bool{
		good: true, "": false, good[1:]: false, good + "0": false,
		good[:39] + " ": false, good[:39] + "\"": false, good[:39] + "\xc3": false,
		strings.Repeat("0", 40): true, strings.Repeat("%nSc0", 8): true,
		strings.Repeat("%nSc1", 8): false, // one more than four bytes hold
		strings.Repeat("#", 40):    false,
	} {
		if Valid(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(strings.Repeat("0", 40))
	f.Add(strings.Repeat("#", 40))
	f.Fuzz(func(t *testing.T, text string) {
		if raw, ok := decodeKey(text); ok && (len(raw) != keySize || encodeKey(raw) != text) {
			t.Errorf("%q is %x", text, raw)
		}
	})
}

func TestPairPrintsNoSecret(t *testing.T) {
	p := generate(t)
	for _, text := range []string{fmt.Sprint(p), fmt.Sprintf("%+v", p), fmt.Sprintf("%#v", p), fmt.Sprint(&p)} {
		if strings.Contains(text, p.Secret) || !strings.Contains(text, p.Public) {
			t.Errorf("the secret is printed: %s", text)
		}
	}
}

func TestWriteAndRead(t *testing.T) {
	old := syscall.Umask(0o777) // the modes do not come from the umask
	defer syscall.Umask(old)
	folder := t.TempDir()
	_ = os.Chmod(folder, 0o700)
	p := generate(t)
	files, err := p.Write(folder, "alice", false)
	if err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{files.Secret: 0o600, files.Public: 0o644} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if got, err := ReadSecret(files.Secret); err != nil || got != p {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := ReadPublic(files.Public); err != nil || got != p.Public {
		t.Errorf("%v, %v", got, err)
	}
	if l, err := OpenList(files.Public); err != nil || l.Len() != 1 {
		t.Errorf("as a list: %v", err)
	}

	// Without force no file is replaced, not even one of the two.
	before, _ := os.ReadFile(files.Secret)
	for _, gone := range []string{"", files.Secret, files.Public} {
		if gone != "" {
			if err := os.Rename(gone, gone+".away"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := generate(t).Write(folder, "alice", false); !errors.Is(err, fs.ErrExist) {
			t.Errorf("without %q: %v", gone, err)
		}
		if gone != "" {
			if _, err := os.Stat(gone); err == nil {
				t.Errorf("%s was created", gone)
			}
			_ = os.Rename(gone+".away", gone)
		}
	}
	if after, _ := os.ReadFile(files.Secret); !bytes.Equal(before, after) {
		t.Error("the secret was replaced")
	}
	q := generate(t)
	if _, err := q.Write(folder, "alice", true); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadSecret(files.Secret); err != nil || got != q {
		t.Errorf("forced: %v, %v", got, err)
	}
	if got, err := ReadPublic(files.Public); err != nil || got != q.Public {
		t.Errorf("forced: %v, %v", got, err)
	}
	if left, _ := os.ReadDir(folder); len(left) != 2 {
		t.Errorf("remaining files: %v", left)
	}
}

func TestNames(t *testing.T) {
	p := generate(t)
	for name, ok := range map[string]bool{
		"a": true, "host-1.example_x": true, strings.Repeat("a", 64): true,
		"": false, ".": false, "..": false, ".a": false, "-a": false, "a/b": false, "../a": false, "a b": false, "a\n": false, strings.Repeat("a", 65): false,
	} {
		folder := t.TempDir()
		_, err := p.Write(folder, name, false)
		if left, _ := os.ReadDir(folder); (err == nil) != ok || (len(left) > 0) != ok {
			t.Errorf("%q: %v, %v", name, err, left)
		}
	}
}

func TestSecretFiles(t *testing.T) {
	p, folder := generate(t), t.TempDir()
	cases := []struct {
		name, text string
		mode       os.FileMode
		want       string // of the error; "" for none
	}{
		{"own format", "# text\n\nsecret " + p.Secret + "\n", 0o600, ""},
		{"read only", "secret " + p.Secret, 0o400, ""},
		{"format of other tools", p.Secret, 0o600, ""},
		{"Windows lines", "secret " + p.Secret + "\r\n", 0o600, ""},
		{"readable by the group", "secret " + p.Secret, 0o640, "chmod 600"},
		{"readable by all", "secret " + p.Secret, 0o604, "chmod 600"},
		{"writable by all", "secret " + p.Secret, 0o602, "chmod 600"},
		{"empty", "", 0o600, "0 keys"},
		{"two keys", "secret " + p.Secret + "\nsecret " + p.Secret, 0o600, "2 keys"},
		{"public key", p.Public + " alice", 0o600, "is a public key"},
		{"short key", "secret " + p.Secret[:39], 0o600, "40 characters"},
		{"text", "secret key of alice", 0o600, "not a key"},
		{"file too large", strings.Repeat("# \n", maxFile), 0o600, "larger"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			path := write1(t, filepath.Join(folder, tc.name), tc.text, tc.mode)
			got, err := ReadSecret(path)
			if tc.want == "" && (err != nil || got != p) {
				t.Errorf("%v, %v", got, err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path)) {
				t.Errorf("error %v, want %s", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), p.Secret[:30]) {
				t.Errorf("the error contains the secret: %v", err)
			}
		})
	}
	t.Run("missing file", func(t *testing.T) {
		if _, err := ReadSecret(filepath.Join(folder, "none")); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
	t.Run("folder", func(t *testing.T) {
		if _, err := ReadSecret(folder); err == nil || !strings.Contains(err.Error(), "regular") {
			t.Error(err)
		}
	})
	t.Run("named pipe", func(t *testing.T) { // it must not wait for a writer
		path := filepath.Join(folder, "pipe")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSecret(path); err == nil || !strings.Contains(err.Error(), "regular") {
			t.Error(err)
		}
	})
}

func TestPublicFiles(t *testing.T) {
	p, q, folder := generate(t), generate(t), t.TempDir()
	cases := []struct {
		name, text string
		mode       os.FileMode
		want       string
	}{
		{"key only", p.Public, 0o644, ""},
		{"key with a name", p.Public + "  alice of the office\n", 0o644, ""},
		{"key after comments", "# alice\n#\n" + p.Public, 0o600, ""},
		{"key in a comment", "#" + q.Public + " bob\n" + p.Public, 0o644, ""},
		{"writable by all", p.Public, 0o646, "everybody may write"},
		{"two keys", p.Public + "\n" + q.Public, 0o644, "2 keys"},
		{"secret key", "secret " + p.Secret, 0o600, "a secret key instead"},
		{"short key", p.Public[:30], 0o644, "line 1"},
		{"empty", "", 0o644, "0 keys"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			path := write1(t, filepath.Join(folder, tc.name), tc.text, tc.mode)
			got, err := ReadPublic(path)
			if tc.want == "" && (err != nil || got != p.Public) {
				t.Errorf("%v, %v", got, err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path)) {
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
}
