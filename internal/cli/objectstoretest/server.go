// Package objectstoretest runs a store with the protocol of Amazon S3 for tests: versitygw, on a port of this machine, with its
// objects in a temporary folder.
//
//	server := objectstoretest.Start(t) // sets the environment: endpoint, credentials, folder of the states
//	job.Out = server.Address("pages.jsonl")
package objectstoretest

import (
	"context"
	"crypto/rand"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/testkit/testwait"
)

// bucket exists in each server.
const bucket = "pages"

// Server is a store. Its methods belong to the goroutine of the test.
type Server struct {
	Key, Secret string // of its user
	States      string // folder with the states of uploads

	t      *testing.T
	host   string
	folder string
	log    strings.Builder
	stop   func()
}

// Start starts a store with one bucket until the test ends, and sets the environment for it.
func Start(t *testing.T) *Server {
	t.Helper()
	ports, release, err := childprocess.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	s := &Server{Key: "key" + rand.Text(), Secret: "secret" + rand.Text(), States: t.TempDir(), t: t, host: "127.0.0.1:" + strconv.Itoa(ports[0]), folder: t.TempDir()}
	for _, name := range []string{"objects", "values"} { // versitygw wants absolute names
		if err := os.Mkdir(filepath.Join(s.folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": "http://" + s.host, "AWS_ENDPOINT_URL": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "",
		"AWS_ACCESS_KEY_ID": s.Key, "AWS_SECRET_ACCESS_KEY": s.Secret, "AWS_SESSION_TOKEN": "", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_SHARED_CREDENTIALS_FILE": filepath.Join(s.folder, "none"), "AWS_CONFIG_FILE": filepath.Join(s.folder, "none"),
		"XDG_CACHE_HOME": s.States, "HOME": s.States,
	} {
		t.Setenv(name, value)
	}
	t.Cleanup(s.Stop)
	s.Run()
	if err := s.client().MakeBucket(t.Context(), bucket, minio.MakeBucketOptions{}); err != nil {
		t.Fatalf("%v\n%s", err, s.log.String())
	}
	return s
}

// Address returns the address of an object in the bucket.
func (s *Server) Address(key string) string { return "s3://" + bucket + "/" + key }

// client returns a client that tries once.
func (s *Server) client() *minio.Core {
	s.t.Helper()
	c, err := minio.NewCore(s.host, &minio.Options{Creds: credentials.NewStaticV4(s.Key, s.Secret, ""), Region: "us-east-1", MaxRetries: 1})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// Run starts the server, also again after Stop.
func (s *Server) Run() {
	s.t.Helper()
	c := exec.Command(program(s.t), "--port", s.host, "--quiet", "posix", "--sidecar", filepath.Join(s.folder, "values"), filepath.Join(s.folder, "objects"))
	c.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s.Key, "ROOT_SECRET_KEY="+s.Secret)
	c.Stdout, c.Stderr = &s.log, &s.log
	ended, err := childprocess.Start(c)
	if err != nil {
		s.t.Fatal(err)
	}
	s.stop = func() {
		_ = c.Process.Kill() // it may have ended
		<-ended
	}
	core := s.client()
	testwait.Until(s.t, "versitygw answers", func() bool {
		_, err := core.ListBuckets(context.Background())
		return err == nil
	})
}

// Stop kills the server. Its objects stay.
func (s *Server) Stop() {
	if s.stop != nil {
		s.stop()
	}
	s.stop = nil
}

// Object returns the bytes of an object, nil if it does not exist.
func (s *Server) Object(key string) []byte {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.folder, "objects", bucket, key))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return text
}

// Put writes an object.
func (s *Server) Put(key, text string) {
	s.t.Helper()
	if _, err := s.client().Client.PutObject(s.t.Context(), bucket, key, strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{DisableContentSha256: true}); err != nil {
		s.t.Fatal(err)
	}
}

// Uploads returns how many uploads of an object are not complete.
func (s *Server) Uploads(key string) (n int) {
	s.t.Helper()
	list, err := s.client().ListMultipartUploads(s.t.Context(), bucket, key, "", "", "", 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	return len(list.Uploads)
}

// CheckSecret fails the test if a text or a file of the states has the secret, or a file has the key.
func (s *Server) CheckSecret(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if strings.Contains(text, s.Secret) || strings.Contains(text, s.Key) {
			s.t.Errorf("credentials are in %q", text)
		}
	}
	err := filepath.WalkDir(s.States, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), s.Secret) || strings.Contains(string(text), s.Key) {
			s.t.Errorf("credentials are in %s", path)
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

var pinned = regexp.MustCompile(`github\.com/versity/versitygw (v\S+)`)

// program returns the path of versitygw, which scripts/setup.sh test has built in the version of tools/go.mod.
func program(t *testing.T) string {
	t.Helper()
	root, err := os.Getwd() // the folder of the package
	if err != nil {
		t.Fatal(err)
	}
	for root != "/" {
		if _, err := os.Stat(filepath.Join(root, "tools/go.mod")); err == nil {
			break
		}
		root = filepath.Dir(root)
	}
	text, err := os.ReadFile(filepath.Join(root, "tools/go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := pinned.FindSubmatch(text)
	if version == nil {
		t.Fatal("tools/go.mod does not have versitygw")
	}
	path := filepath.Join(root, ".cache", "versitygw-"+string(version[1]))
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("no versitygw in .cache (%v): run scripts/setup.sh test", err)
	}
	return path
}
