package document_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/process/document"
	"hce/dc/internal/process/document/documenttest"
)

// readVariable makes the test program read a document from its standard input.
const readVariable = "HCE_TEST_READ_DOCUMENT"

func TestMain(m *testing.M) {
	if os.Getenv(readVariable) != "" {
		body, err := io.ReadAll(os.Stdin)
		if err == nil {
			_, err = document.Read("application/octet-stream", body, pageURL)
		}
		status, _ := os.ReadFile("/proc/self/status") // rusage has the memory of the parent, too
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		fmt.Sscan(peak, &peak)
		fmt.Println(peak, err)
		return
	}
	os.Exit(m.Run())
}

// The readers end by their own limits: in a process like a worker, no document takes more than the
// memory of a page, or much processor time.
func TestHostileDocuments(t *testing.T) {
	const (
		memory = 512 << 20        // max_item_memory
		most   = 15 * time.Second // the worst takes 2 s
	)
	for name, make := range documenttest.Hostile() {
		t.Run(name, func(t *testing.T) {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), readVariable+"=1", "GOMAXPROCS=1", "GOGC=300", fmt.Sprintf("GOMEMLIMIT=%d", memory/4*3))
			c.Stdin = bytes.NewReader(make())
			out, err := c.CombinedOutput()
			var peak int // KiB
			if _, e := fmt.Sscan(string(out), &peak); err != nil || e != nil {
				t.Fatalf("%v, %.1000s", err, out)
			}
			used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
			t.Logf("%v, %d MiB, %s", used, peak>>10, out)
			if used > most || peak<<10 > memory {
				t.Errorf("%v of processor time, %d MiB", used, peak>>10)
			}
		})
	}
}
