package cookies

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hce/dc/internal/crawl/statefile/killtest"
)

func TestMain(m *testing.M) { killtest.Main(m, collectForEver) }

// collectForEver sets one cookie after the other in a jar, saves, and
// reports what is saved. place is the folder followed by the host.
func collectForEver(place string) error {
	dir, host := filepath.Split(place)
	js := Open(dir, Options{})
	u := &url.URL{Scheme: "http", Host: host, Path: "/"}
	for i := 1; ; i++ {
		line := fmt.Sprintf("n%d=%d", i%40, i)
		js.Site("s").SetCookies(u, http.Header{"Set-Cookie": {line, "all=" + host + "; Domain=example.com"}}, time.Now())
		if err := js.Save(context.Background()); err != nil {
			return err
		}
		fmt.Println(i)
	}
}

// Every cookie that a killed process has reported is in the file.
func TestKilledProcesses(t *testing.T) {
	dir := t.TempDir()
	host := func(i int) string { return fmt.Sprintf("h%d.d%d.com", i, i) }
	killtest.Run(t, 3, func(i int) string { return filepath.Join(dir, host(i)) }, func(i int, reports []string) {
		text, err := os.ReadFile(filepath.Join(dir, "s.json"))
		if err != nil || !json.Valid(text) {
			t.Fatalf("%q, %v", text, err)
		}
		var reported int
		fmt.Sscan(reports[len(reports)-1], &reported)
		checkSaved(t, dir, host(i), reported)
	})
}

// checkSaved checks the last 30 cookies up to the reported number.
func checkSaved(t *testing.T, dir, host string, reported int) {
	t.Helper()
	kept := map[string]string{}
	for _, c := range Open(dir, Options{}).Site("s").cookies {
		if c.Domain == host {
			kept[c.Name] = c.Value
		}
	}
	for i := max(1, reported-30); i <= reported; i++ {
		var n int
		fmt.Sscan(kept[fmt.Sprintf("n%d", i%40)], &n)
		if n < i {
			t.Errorf("%s: reported %d; n%d is %d", host, reported, i%40, n)
		}
	}
}
