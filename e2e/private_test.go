//go:build e2e

package e2e

import (
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"hce/dc/internal/testkit/rig"
)

// public matches the files of a data folder without secrets, whose mode follows the umask: logs, counters,
// gates of hosts and public keys. Their folder is private.
var public = regexp.MustCompile(`^(daemon\.out|log/.*|stat/.*|dc_hosts/.*|keys/.*\.pub)$`)

// With any umask, only the owner can read the files with cookies, passwords and keys: databases, raw
// and processed contents, the spool and state files. So it is for all folders of such files.
func TestSecretsArePrivate(t *testing.T) {
	for _, store := range []string{"segments", "files"} {
		t.Run(store, func(t *testing.T) {
			before := syscall.Umask(0) // no other test runs meanwhile
			restore := func() { syscall.Umask(before) }
			t.Cleanup(restore)
			w := newWitness(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				http.SetCookie(rw, &http.Cookie{Name: "session", Value: "secret"})
				tree(20).ServeHTTP(rw, r)
			}))
			data := filepath.Join(t.TempDir(), "data")
			r := start(t, data, "DC_TasksManager_raw_store="+store)
			id := newSite(t, r, rig.Site{Root: w.URL + "/", Properties: map[string]string{
				"HTTP_COOKIE": "password=secret", "HTTP_AUTH_NAME": "user", "HTTP_AUTH_PWD": "secret", "HTTP_FREQ_LIMITS": `{"*":{"max":1000}}`,
			}})
			finish(t, r, id)
			if err := r.Stop(limited(t)); err != nil {
				t.Fatal(err)
			}
			restore()
			seen := 0
			err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				name, _ := filepath.Rel(data, path)
				info, err := d.Info()
				if err != nil || public.MatchString(name) || d.IsDir() && public.MatchString(name+"/") {
					return err
				}
				seen++
				if mode := info.Mode().Perm(); mode&0o077 != 0 {
					t.Errorf("%s has mode %o", name, mode)
				}
				return nil
			})
			if err != nil || seen < 10 {
				t.Errorf("%d files, %v", seen, err)
			}
		})
	}
}
