package fetch

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A body that arrives byte by byte ends as a timeout long before the timeout of the request.
func TestMinRate(t *testing.T) {
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/slow" {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<16))
			return
		}
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond)
		}
	})
	c := New(Config{AllowedNetworks: local, MinRate: 1 << 20, RateWindow: 20 * time.Millisecond})
	defer c.Close()
	f := fails(t, c, Request{URL: u + "/slow", Timeout: time.Hour}, Timeout)
	if !strings.Contains(f.Error(), "less than 1048576 bytes a second") {
		t.Errorf("error %q", f.Error())
	}
	patient := New(Config{AllowedNetworks: local, MinRate: 1})
	defer patient.Close()
	if got, err := patient.Get(t.Context(), Request{URL: u + "/"}); err != nil || len(got.Body) != 1<<16 {
		t.Error(err)
	}
}

// A window with time in which the body waits for memory says nothing about the server.
func TestMinRateWhileMemoryIsFull(t *testing.T) {
	ended := false
	in, out := io.Pipe()
	defer out.Close()
	b := newRateReader(in, 1000, time.Hour, func(error) { ended = true })
	defer b.stop()
	b.checkRate(1000)
	go b.Read(make([]byte, 1))
	for !b.reading.Load() {
		runtime.Gosched()
	}
	b.pauseReading()
	if b.checkRate(1000); ended {
		t.Error("ended in a window with a pause")
	}
	if b.checkRate(1000); !ended {
		t.Error("not ended in a window without one")
	}
}
