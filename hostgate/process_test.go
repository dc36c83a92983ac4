package hostgate

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The test binary runs as a crawling process if this variable is set.
const childEnv = "HOSTGATE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := crawlAsChild(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// crawlAsChild sends the requests that its environment describes, from two goroutines.
func crawlAsChild() error {
	gs, err := Open(os.Getenv("DIR"))
	if err != nil {
		return err
	}
	defer gs.Close()
	delay, err := time.ParseDuration(os.Getenv("DELAY"))
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(os.Getenv("COUNT"))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(os.Getenv("CONCURRENCY"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			for range count {
				if err := requestOnce(ctx, gs, os.Getenv("URL"), delay, n); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func requestOnce(ctx context.Context, gs *Gates, url string, delay time.Duration, n int) error {
	host := os.Getenv("HOST")
	p, err := gs.Acquire(ctx, host, delay, n)
	if err != nil {
		return err
	}
	defer p.Release(delay)
	if host != "host" { // one of many names of the address
		shared, err := gs.AcquireAddress(ctx, host, testAddress, 2, delay, n)
		if err != nil || shared == nil {
			return fmt.Errorf("a pass of the address: %v, %w", shared, err)
		}
		defer shared.Release(delay)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func child(t *testing.T, dir, url string, delay time.Duration, count, n int) *exec.Cmd {
	t.Helper()
	return childOf(t, "host", dir, url, delay, count, n)
}

func childOf(t *testing.T, host, dir, url string, delay time.Duration, count, n int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1", "DIR="+dir, "URL="+url, "HOST="+host,
		"DELAY="+delay.String(), fmt.Sprint("COUNT=", count), fmt.Sprint("CONCURRENCY=", n))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return cmd
}

// serviceTime is how long the server works on a request. It makes violations easier to see;
// no result depends on it.
const serviceTime = 2 * time.Millisecond

// witness is a server that records how its clients behave.
type witness struct {
	mu       sync.Mutex
	now, max int // requests at once
	total    int
	lastEnd  time.Time
	shortest time.Duration // from an end to the next start
}

func (w *witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	begin := time.Now()
	if w.total > 0 && w.now == 0 {
		w.shortest = min(w.shortest, begin.Sub(w.lastEnd))
	}
	w.now++
	w.total++
	w.max = max(w.max, w.now)
	w.mu.Unlock()

	time.Sleep(serviceTime)

	w.mu.Lock()
	w.now--
	w.lastEnd = time.Now()
	w.mu.Unlock()
	io.WriteString(rw, "ok") // the client continues after the record above
}

func TestProcessesExclusive(t *testing.T) {
	for _, delay := range []time.Duration{0, 20 * time.Millisecond} {
		t.Run(fmt.Sprint("delay=", delay), func(t *testing.T) {
			w := &witness{shortest: time.Hour}
			srv := httptest.NewServer(w)
			defer srv.Close()
			dir := t.TempDir()
			const processes, count = 4, 8
			var all []*exec.Cmd
			for range processes {
				all = append(all, child(t, dir, srv.URL, delay, count, 1))
			}
			for _, cmd := range all {
				if err := cmd.Wait(); err != nil {
					t.Error(err)
				}
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.total != processes*count*2 {
				t.Errorf("%d requests, want %d", w.total, processes*count*2)
			}
			if w.max != 1 {
				t.Errorf("%d requests at once", w.max)
			}
			if w.shortest < delay {
				t.Errorf("a gap of %v, want %v", w.shortest, delay)
			}
		})
	}
}

func TestProcessesShare(t *testing.T) {
	w := &witness{shortest: time.Hour}
	srv := httptest.NewServer(w)
	defer srv.Close()
	dir := t.TempDir()
	var all []*exec.Cmd
	for range 3 {
		all = append(all, child(t, dir, srv.URL, 0, 20, 2))
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.total != 120 || w.max > 2 {
		t.Errorf("%d requests, %d at once; want 120 and at most 2", w.total, w.max)
	}
}

// A process is killed during its request, or during the wait for it. The next request comes
// a whole gap after the kill.
func TestKilledInFlight(t *testing.T) {
	const delay = 150 * time.Millisecond
	arrived := make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done() // until the client disconnects
	}))
	defer srv.Close()
	for _, n := range []int{1, 2} {
		t.Run(fmt.Sprint("concurrency=", n), func(t *testing.T) {
			dir := t.TempDir()
			cmd := child(t, dir, srv.URL, delay, 1, n)
			<-arrived
			gs := open(t, dir)
			refused(t, gs, "host", 1)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			killed := time.Now()
			cmd.Wait()
			release(t, acquire(t, gs, "host", delay, 1), 0)
			if gap := time.Since(killed); gap < delay {
				t.Errorf("next request %v after the kill, want %v", gap, delay)
			}
			select { // the second goroutine of the child, if it has arrived
			case <-arrived:
			default:
			}
		})
	}
}
