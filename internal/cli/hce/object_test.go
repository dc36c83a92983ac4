package hce

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/export"
	"hce/dc/internal/cli/objectstore"
	"hce/dc/internal/cli/objectstoretest"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/testkit/testwait"
)

// In a child of a test, parts are as small as servers take them, and a server that does not answer is given up soon.
func TestMain(m *testing.M) {
	objectstore.PartSize, objectstore.MaxTries, export.RowGroup = 5<<20, 2, 1<<20
	clitest.Main(m, func() {
		os.Exit(Command(context.Background(), nil, os.Stdout, os.Stderr).Main(os.Args[1:]))
	})
}

// objectTest is a store of objects, and a site in stores of pages.
type objectTest struct {
	*testing.T
	server *objectstoretest.Server
	stores *storestest.Stores
	site   string
}

// largePages are more than two parts.
const largePages = 1200

func newObjectTest(t *testing.T, pages int) objectTest {
	t.Helper()
	o := objectTest{t, objectstoretest.Start(t), storestest.Open(t), ""}
	o.site = o.stores.NewSite("https://example.org/")
	o.stores.AddLargePages(o.site, "https://example.org/p", pages, 9000)
	return o
}

// run runs hce, and checks that neither its output nor a state has credentials.
func (o objectTest) run(args ...string) (out, said string, status int) {
	o.Helper()
	out, said, status = clitest.Run(o.T, o.TempDir(), args...)
	o.server.CheckSecret(out, said)
	return out, said, status
}

// exportArgs are the arguments of an export.
func (o objectTest) exportArgs(out string, more ...string) []string {
	return append([]string{"export", "--server", "127.0.0.1:" + o.stores.Port, "--out", out, o.site}, more...)
}

// mustExport runs an export.
func (o objectTest) mustExport(out string, more ...string) (said string) {
	o.Helper()
	_, said, status := o.run(o.exportArgs(out, more...)...)
	if status != 0 {
		o.Fatalf("%s: status %d, %s", out, status, said)
	}
	return said
}

// exportFile returns the bytes of an export to a file.
func (o objectTest) exportFile(name string, more ...string) []byte {
	o.Helper()
	file := filepath.Join(o.TempDir(), name)
	o.mustExport(file, more...)
	text, err := os.ReadFile(file)
	if err != nil {
		o.Fatal(err)
	}
	return text
}

// checkObject compares an object with what it should be.
func (o objectTest) checkObject(key string, want []byte) {
	o.Helper()
	if got := o.server.Object(key); !bytes.Equal(got, want) {
		o.Errorf("%s has %d bytes, want %d", key, len(got), len(want))
	}
	if n := o.server.Uploads(key); n != 0 {
		o.Errorf("%s: %d uploads are left", key, n)
	}
	if left := o.stateFiles(); len(left) > 0 {
		o.Errorf("%s: states are left: %q", key, left)
	}
}

// stateFiles are the files of all states.
func (o objectTest) stateFiles() (names []string) {
	o.Helper()
	err := filepath.WalkDir(o.server.States, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) { // it is being removed
		o.Fatal(err)
	}
	return names
}

// uploadState is what the state of an upload says.
type uploadState struct {
	ID    string
	Parts int // that the server has
}

// readState reads the state of an upload.
func (o objectTest) readState() (state uploadState) {
	names, _ := filepath.Glob(filepath.Join(o.server.States, "hce/s3/*/upload.json"))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || json.Unmarshal(text, &state) != nil {
			return uploadState{} // it is being replaced
		}
	}
	return state
}

// startUntil starts a command and returns it when a number of parts is sent.
func (o objectTest) startUntil(parts int, args []string) (c *exec.Cmd, said *bytes.Buffer, ended chan error) {
	o.Helper()
	c, said, ended = clitest.Command(o.T, o.TempDir(), args...), &bytes.Buffer{}, make(chan error, 1)
	c.Stderr = said
	if err := c.Start(); err != nil {
		o.Fatal(err)
	}
	go func() { ended <- c.Wait() }()
	testwait.Until(o.T, "parts are sent", func() bool { return len(ended) > 0 || o.readState().Parts >= parts })
	if len(ended) > 0 {
		err := <-ended
		o.Fatalf("the export has ended: %v, %s", err, said)
	}
	return c, said, ended
}

// killAfter kills a command when a number of parts is sent.
func (o objectTest) killAfter(parts int, args []string) {
	o.Helper()
	c, _, ended := o.startUntil(parts, args)
	if err := c.Process.Kill(); err != nil {
		o.Fatal(err)
	}
	<-ended
}

// An object has the bytes of a file, whatever the format and the key.
func TestExportToObject(t *testing.T) {
	o := newObjectTest(t, 60)
	for _, key := range []string{"pages.jsonl", "pages.csv", "pages.parquet", "sitemap.xml", "a folder/ü?%20+.jsonl"} {
		want := o.exportFile(filepath.Base(key))
		if said := o.mustExport(o.server.Address(key)); !strings.Contains(said, "wrote 60 pages to "+o.server.Address(key)) {
			t.Error(said)
		}
		o.checkObject(key, want)
	}
	for _, key := range []string{"pages.warc.gz", "pages.wacz"} { // their dates differ
		o.mustExport(o.server.Address(key))
		o.checkImport(key, 60)
	}
}

// checkImport imports an object to other stores, and compares the pages.
func (o objectTest) checkImport(key string, pages int) {
	o.Helper()
	want := o.exportFile("first.jsonl", "--fields", "url,html")
	other := o
	other.stores = storestest.Open(o.T)
	args := []string{"import", "warc", "--json", "--server", "127.0.0.1:" + other.stores.Port, o.server.Address(key)}
	for _, stored := range []int{pages, 0} { // again: nothing
		out, said, status := o.run(args...)
		var done struct{ Pages int }
		if err := json.Unmarshal([]byte(out), &done); err != nil || status != 0 || done.Pages != stored {
			o.Errorf("import %s: status %d, %q, %q", key, status, out, said)
		}
	}
	if got := other.exportFile("again.jsonl", "--fields", "url,html"); !bytes.Equal(got, want) {
		o.Errorf("%s: the imported pages have %d bytes, want %d", key, len(got), len(want))
	}
}

// largeFields are those of exports of large pages.
var largeFields = []string{"--fields", "url,title,html"}

// Whatever ends an export, the same command continues, and the object has the bytes of a file.
func TestInterruptedExportToObject(t *testing.T) {
	o := newObjectTest(t, largePages)
	want := o.exportFile("pages.jsonl", largeFields...)
	t.Run("killed", func(t *testing.T) {
		o.T = t
		o.killBefore("pages.jsonl", 0, 1, 2)
		o.mustExport(o.server.Address("pages.jsonl"), largeFields...)
		o.checkObject("pages.jsonl", want)
	})
	t.Run("killed with a row group", func(t *testing.T) {
		o.T = t
		o.killBefore("pages.parquet", 1, 2)
		o.mustExport(o.server.Address("pages.parquet"), largeFields...)
		o.checkObject("pages.parquet", o.exportFile("pages.parquet", largeFields...))
	})
	t.Run("killed, of a format that begins again", func(t *testing.T) {
		o.T = t
		o.killAfter(1, o.exportArgs(o.server.Address("pages.wacz")))
		o.mustExport(o.server.Address("pages.wacz"))
		o.checkZip("pages.wacz")
	})
	t.Run("without the server", func(t *testing.T) {
		o.T = t
		args := o.exportArgs(o.server.Address("away.jsonl"), largeFields...)
		_, said, ended := o.startUntil(1, args)
		o.server.Stop()
		if err := <-ended; err == nil || !strings.Contains(said.String(), "cannot reach it") {
			t.Errorf("%v, %q", err, said)
		}
		o.server.CheckSecret(said.String())
		if _, said, status := o.run(args...); status != 3 || !strings.Contains(said, "connection refused") {
			t.Errorf("status %d, %q", status, said)
		}
		o.server.Run()
		o.mustExport(o.server.Address("away.jsonl"), largeFields...)
		o.checkObject("away.jsonl", want)
	})
	t.Run("given up", func(t *testing.T) {
		o.T = t
		o.killBefore("given-up.jsonl", 1)
		if n := o.server.Uploads("given-up.jsonl"); n != 1 {
			t.Errorf("%d uploads, want 1", n)
		}
		if _, said, status := o.run("export", "--abort-upload", "--out", o.server.Address("given-up.jsonl")); status != 0 || !strings.Contains(said, "dropped 1 upload of") {
			t.Errorf("status %d, %q", status, said)
		}
		o.checkObject("given-up.jsonl", nil)
	})
}

// killBefore kills exports to an object one after the other, each when the server has a number of parts. All have the same
// upload.
func (o objectTest) killBefore(key string, parts ...int) {
	o.Helper()
	id := ""
	for _, n := range parts {
		o.killAfter(n, o.exportArgs(o.server.Address(key), largeFields...))
		state := o.readState()
		if id != "" && state.ID != id {
			o.Errorf("%s began again", key)
		}
		id = state.ID
	}
	if o.server.Object(key) != nil {
		o.Errorf("%s is there before its end", key)
	}
}

// checkZip reads an object that is a zip file, whose parts have checksums.
func (o objectTest) checkZip(key string) {
	o.Helper()
	text := o.server.Object(key)
	archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		o.Fatal(err)
	}
	for _, f := range archive.File {
		r, err := f.Open()
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			o.Errorf("%s: %v", f.Name, err)
		}
	}
	o.checkObject(key, text)
}

// What a person has to change is refused with status 2, before anything is written.
func TestObjectsThatAreRefused(t *testing.T) {
	o := newObjectTest(t, 3)
	o.server.Put("here.jsonl", "text")
	for _, c := range []struct {
		name, out, says string
		status          int
		args, env       []string
	}{
		{"an object that exists", o.server.Address("here.jsonl"), "it exists; give another name, or replace it with --force", 2, nil, nil},
		{"a missing bucket", "s3://nowhere/a.jsonl", "the bucket nowhere does not exist", 2, nil, nil},
		{"a wrong secret", o.server.Address("a.jsonl"), "refuses the credentials", 2, nil, []string{"AWS_SECRET_ACCESS_KEY=wrong-secret"}},
		{"a wrong key", o.server.Address("a.jsonl"), "refuses the credentials", 2, nil, []string{"AWS_ACCESS_KEY_ID=wrong"}},
		{"no credentials", o.server.Address("a.jsonl"), "no credentials; set AWS_ACCESS_KEY_ID", 2, nil, []string{"AWS_ACCESS_KEY_ID="}},
		{"a folder", o.server.Address("folder/"), "is the name of a folder", 2, nil, nil},
		{"a format of folders", o.server.Address("a"), "format md writes a folder", 2, []string{"--format", "md"}, nil},
		{"no key", "s3://pages", "names no object", 2, nil, nil},
		{"a password in the address", "s3://user:" + o.server.Secret + "@pages/a.jsonl", "has no credentials", 2, nil, nil},
		{"a password in the endpoint", o.server.Address("a.jsonl"), "has a user or a password", 2, nil, []string{"AWS_ENDPOINT_URL_S3=https://user:" + o.server.Secret + "@example.org"}},
		{"a network in clear", o.server.Address("a.jsonl"), "pages would cross the network in clear", 2, nil, []string{"AWS_ENDPOINT_URL_S3=http://192.0.2.1:9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := clitest.Command(t, t.TempDir(), o.exportArgs(c.out, c.args...)...)
			command.Env = append(command.Env, c.env...)
			out, said, status := clitest.Output(t, command)
			if status != c.status || !strings.Contains(said, c.says) {
				t.Errorf("status %d, %q", status, said)
			}
			o.server.CheckSecret(out, said)
			if strings.Contains(said, "wrong-secret") {
				t.Errorf("the secret is in %q", said)
			}
		})
	}
	if _, said, status := o.run("import", "warc", "--server", "127.0.0.1:"+o.stores.Port, o.server.Address("none.warc")); status != 2 || !strings.Contains(said, "does not exist at") {
		t.Errorf("status %d, %q", status, said)
	}
	if got := o.server.Object("here.jsonl"); string(got) != "text" {
		t.Errorf("the object is %q", got)
	}
	o.mustExport(o.server.Address("here.jsonl"), "--force")
	o.checkObject("here.jsonl", o.exportFile("here.jsonl"))
}
