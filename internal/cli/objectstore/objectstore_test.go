package objectstore

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/objectstoretest"
)

func TestParseAddress(t *testing.T) {
	for _, c := range []struct{ text, key, says string }{
		{"s3://bucket/key.jsonl", "key.jsonl", ""}, {"S3://bucket/a/b c/ü?%20", "a/b c/ü?%20", ""}, {"s3://my.bucket-1/x/", "x/", ""},
		{"s3://bucket", "", "names no object"}, {"s3://bucket/", "", "names no object"}, {"s3:///key", "", "no name of a bucket"},
		{"s3://Bucket/key", "", "no name of a bucket"}, {"s3://b/key", "", "no name of a bucket"}, {"s3://user:word@bucket/key", "", "has no credentials"},
		{"s3://bucket/https://example.org/", "", "empty part"}, {"s3://bucket/a/../b", "", "empty part"}, {"s3://bucket//a", "", "empty part"},
		{"s3://bucket/a\nb", "", "control characters"}, {"s3://bucket/\xff", "", "UTF-8"}, {"s3://bucket/" + strings.Repeat("a", 1025), "", "at most 1024"},
		{"https://bucket/key", "", "does not begin with s3://"},
	} {
		a, err := ParseAddress(c.text)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "word") {
				t.Errorf("%q: %v, want %q", c.text, err, c.says)
			}
		} else if err != nil || a.Key != c.key {
			t.Errorf("%q: %v, %v", c.text, a, err)
		}
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("s3://bucket/key")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		if again, err := ParseAddress(a.String()); err != nil || again != a {
			t.Errorf("%q: %v, %v, %v", text, a, again, err)
		}
	})
}

func TestEndpoint(t *testing.T) {
	for _, c := range []struct {
		text, allow, host string
		secure            bool
		says              string
	}{
		{"https://objects.example.org", "", "objects.example.org", true, ""}, {"https://s3.eu-west-1.amazonaws.com/", "", "s3.eu-west-1.amazonaws.com", true, ""},
		{"http://127.0.0.1:9000", "", "127.0.0.1:9000", false, ""}, {"http://[::1]:9000", "", "[::1]:9000", false, ""}, {"http://localhost:1", "", "localhost:1", false, ""},
		{"http://objects.example.org", "", "", false, AllowHTTP + "=1"}, {"http://objects.example.org", "1", "objects.example.org", false, ""},
		{"http://localhost.example.org", "", "", false, "in clear"}, {"http://10.0.0.1", "yes", "", false, "in clear"},
		{"https://user:word@example.org", "", "", false, "a user or a password"}, {"https://example.org/path", "", "", false, "only scheme, host and port"},
		{"ftp://example.org", "", "", false, "no URL"}, {"objects.example.org:9000", "", "", false, "no URL"}, {"https://user:word@%zz/", "", "", false, "no URL"},
	} {
		t.Setenv(AllowHTTP, c.allow)
		host, secure, err := readEndpoint(c.text)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "word@") {
				t.Errorf("%s: %v, want %q", c.text, err, c.says)
			}
		} else if err != nil || host != c.host || secure != c.secure {
			t.Errorf("%s: %s, %t, %v", c.text, host, secure, err)
		}
	}
}

// parts makes parts as small as servers take them.
func parts(t *testing.T) {
	size, tries := PartSize, MaxTries
	PartSize, MaxTries = 5<<20, 3
	t.Cleanup(func() { PartSize, MaxTries = size, tries })
}

// random returns bytes that no other call returns.
func random(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

func open(t *testing.T, address string) *Client {
	t.Helper()
	c, err := Open(address)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// begin opens an upload until the test ends.
func begin(t *testing.T, c *Client, folder string, o UploadOptions) *Upload {
	t.Helper()
	u, err := c.OpenUpload(t.Context(), folder, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Close)
	return u
}

// write writes bytes, and sends whole parts.
func write(t *testing.T, u *Upload, text []byte) {
	t.Helper()
	if _, err := u.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := u.Send(t.Context(), u.Size()); err != nil {
		t.Fatal(err)
	}
}

// Credentials of a profile are found, and the folder of an upload has no more than what no part has.
func TestUpload(t *testing.T) {
	server := objectstoretest.Start(t)
	parts(t)
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[other]\naws_access_key_id = "+server.Key+"\naws_secret_access_key = "+server.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "other"} {
		t.Setenv(name, value)
	}
	c, text := open(t, server.Address("a/b")), random(12<<20)
	folder := c.Folder(server.States)
	for at, size := int64(0), int64(0); at < int64(len(text)); at = size {
		u := begin(t, c, folder, UploadOptions{ContentType: "text/plain"})
		if u.Size() != at {
			t.Fatalf("%d bytes, want %d", u.Size(), at)
		}
		size = min(at+3<<20, int64(len(text)))
		write(t, u, append(bytes.Clone(text[at:size]), "half a line"...))
		if u.Sent() > size {
			t.Fatalf("%d bytes are sent of %d", u.Sent(), size)
		}
		if err := u.Cut(size); err != nil {
			t.Fatal(err)
		}
		tails, err := filepath.Glob(folder + "/tail-*")
		if err != nil || len(tails) != 1 {
			t.Fatal(tails, err)
		}
		if info, err := os.Stat(tails[0]); err != nil || info.Size() != size-u.Sent() || info.Size() >= PartSize {
			t.Errorf("%v, %v", info, err)
		}
		u.Close()
	}
	if server.Object("a/b") != nil {
		t.Error("the object is there before its end")
	}
	u := begin(t, c, folder, UploadOptions{})
	if err := u.Complete(t.Context(), 1, false); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(server.Object("a/b"), text) {
		t.Error("the object differs")
	}
	server.CheckSecret()
	if err := u.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

// A process that ends between the completion and its report, finds the object complete.
func TestCompletedUpload(t *testing.T) {
	server := objectstoretest.Start(t)
	parts(t)
	for _, size := range []int{0, 1000, 6 << 20} {
		c := open(t, server.Address("key"))
		folder, text := c.Folder(server.States), random(size)
		u := begin(t, c, folder, UploadOptions{})
		if err := u.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		write(t, u, text)
		if err := u.Complete(t.Context(), map[string]int{"pages": 7}, true); err != nil {
			t.Fatal(err)
		}
		u.Close()
		u = begin(t, c, folder, UploadOptions{})
		var result map[string]int
		if err := u.Result(&result); err != nil || !u.IsDone() || result["pages"] != 7 || !bytes.Equal(server.Object("key"), text) {
			t.Errorf("%d bytes: done %t, %v, %v", size, u.IsDone(), result, err)
		}
		u.Close()
	}
}

// An object that another program writes meanwhile is kept.
func TestUploadKeepsOtherObjects(t *testing.T) {
	server := objectstoretest.Start(t)
	parts(t)
	for _, size := range []int{1000, 6 << 20} {
		c := open(t, server.Address("key"))
		u := begin(t, c, c.Folder(t.TempDir()), UploadOptions{})
		text := random(size)
		write(t, u, text)
		server.Put("key", "of another program")
		var refused *Error
		if err := u.Complete(t.Context(), nil, false); !errors.As(err, &refused) || !strings.Contains(err.Error(), "another program has changed it meanwhile") {
			t.Errorf("%d bytes: %v", size, err)
		}
		if got := server.Object("key"); string(got) != "of another program" {
			t.Errorf("%d bytes: %q", size, got)
		}
		if err := u.Complete(t.Context(), nil, true); err != nil || !bytes.Equal(server.Object("key"), text) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// An upload that the server, or the file system, does not know any more begins again.
func TestLostUpload(t *testing.T) {
	server := objectstoretest.Start(t)
	parts(t)
	c := open(t, server.Address("key"))
	folder := c.Folder(server.States)
	for name, lose := range map[string]func() error{
		"dropped by the server": func() error { _, err := c.DropUploads(t.Context(), t.TempDir()); return err },
		"no file":               func() error { return os.Remove(folder + "/tail-5242880") },
	} {
		u := begin(t, c, folder, UploadOptions{})
		write(t, u, random(6<<20))
		if _, err := c.OpenUpload(t.Context(), folder, UploadOptions{}); !errors.Is(err, ErrBusy) {
			t.Errorf("two writers: %v", err)
		}
		u.Close()
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		if u = begin(t, c, folder, UploadOptions{}); u.Size() != 0 || u.Sent() != 0 || server.Uploads("key") != 0 {
			t.Errorf("%s: %d bytes, %d sent, %d uploads", name, u.Size(), u.Sent(), server.Uploads("key"))
		}
		u.Close()
	}
}

// A reading continues when the connection breaks; an object that has changed meanwhile is an error.
func TestObject(t *testing.T) {
	server := objectstoretest.Start(t)
	parts(t)
	text := random(8 << 20)
	server.Put("key", string(text))
	o, err := open(t, server.Address("key")).OpenObject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	got := make([]byte, 1<<20)
	if _, err := io.ReadFull(o, got); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	server.Run()
	rest, err := io.ReadAll(o)
	if err != nil || !bytes.Equal(append(got, rest...), text) {
		t.Errorf("%d bytes: %v", len(got)+len(rest), err)
	}
	for _, off := range []int64{5 << 20, 100, 6 << 20, 8<<20 - 1000} {
		p := make([]byte, 1000)
		if n, err := o.ReadAt(p, off); n != len(p) || err != nil || !bytes.Equal(p, text[off:off+1000]) {
			t.Errorf("at %d: %d bytes, %v", off, n, err)
		}
	}
	if n, err := o.ReadAt(make([]byte, 1000), 8<<20-10); n != 10 || err != io.EOF {
		t.Errorf("at the end: %d bytes, %v", n, err)
	}
	server.Put("key", "changed")
	if _, err := o.ReadAt(make([]byte, 10), 50); err == nil || !strings.Contains(err.Error(), "another program has changed it meanwhile") {
		t.Errorf("a changed object: %v", err)
	}
	var missing *Error
	if _, err := open(t, server.Address("none")).OpenObject(t.Context()); !errors.As(err, &missing) || !missing.IsRefusal() {
		t.Errorf("no object: %v", err)
	}
}
