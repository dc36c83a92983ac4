package processor

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/testkit/testwait"
)

// BenchmarkSearch indexes SEARCH_PAGES pages (default 5000), then asks 1000 questions of all forms from
// two clients through the manager and two processors, each a process.
//
//	SEARCH_PAGES=100000 go test -run xxx -bench Search -benchtime 1x ./internal/apps/search/processor
func BenchmarkSearch(b *testing.B) {
	pages, err := strconv.Atoi(os.Getenv("SEARCH_PAGES"))
	if err != nil {
		pages = 5000
	}
	for b.Loop() {
		x, dir := newIndex(b)
		m := startManager(b)
		c := newCorpus(50_000)
		start := time.Now()
		list := c.fill(b, x, pages, 200)
		b.ReportMetric(float64(pages)/time.Since(start).Seconds(), "pages/s")
		b.ReportMetric(peakMemory(b), "MB-peak")
		b.ReportMetric(float64(size(b, dir))/1e6, "MB-disk")
		var ends []func() time.Duration
		for range 2 {
			cmd, ended := child(b, m.Endpoint, dir, 0)
			ends = append(ends, func() time.Duration {
				_ = cmd.Process.Kill()
				<-ended
				return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			})
		}
		testwait.Until(b, "both processors have joined", func() bool {
			s, err := m.Status(b.Context())
			return err == nil && len(s.Processors) == 2
		})
		ask := func(a search.Ask) search.Reply {
			r, err := m.Ask(context.Background(), a)
			if err != nil {
				r.Error = err.Error()
			}
			return r
		}
		b.ReportMetric(100*float64(first(b, ask, list))/float64(len(list)), "%first")
		times := load(b, c, ask)
		b.ReportMetric(float64(times[len(times)/2].Microseconds())/1e3, "ms-p50")
		b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1e3, "ms-p99")
		frequent := loadFrequent(b, c, ask)
		b.ReportMetric(float64(frequent[len(frequent)/2].Microseconds())/1e3, "ms-p50-frequent")
		b.ReportMetric(float64(frequent[len(frequent)*99/100].Microseconds())/1e3, "ms-p99-frequent")
		var used time.Duration
		for _, end := range ends {
			used += end()
		}
		b.ReportMetric(float64(used.Milliseconds())/float64(len(times)+len(frequent)+len(list)), "ms-cpu/question") // whatever else the machine does
	}
}

// load asks questions from two clients and returns their times, sorted.
func load(b *testing.B, c *corpus, ask func(search.Ask) search.Reply) (times []time.Duration) {
	var mu sync.Mutex
	var group sync.WaitGroup
	for worker := range 2 {
		random := rand.New(rand.NewPCG(uint64(worker), 7))
		var questions []string
		for range 500 {
			questions = append(questions, question(c, random))
		}
		group.Go(func() {
			for _, text := range questions {
				start := time.Now()
				r := ask(search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: text, Limit: 10})
				took := time.Since(start)
				if r.Error != "" {
					b.Errorf("%s: %s", text, r.Error)
				}
				mu.Lock()
				times = append(times, took)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.Sort(times)
	return times
}

// loadFrequent asks for the most frequent words of each language, one at a time and in pairs, and returns
// the times, sorted.
func loadFrequent(b *testing.B, c *corpus, ask func(search.Ask) search.Reply) (times []time.Duration) {
	for _, t := range c.tongue {
		for i := range stopWords {
			for _, text := range []string{t.words[i], t.words[i] + " " + t.words[(i+1)%stopWords]} {
				start := time.Now()
				if r := ask(search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: text, Limit: 10}); r.Error != "" {
					b.Errorf("%s: %s", text, r.Error)
				}
				times = append(times, time.Since(start))
			}
		}
	}
	slices.Sort(times)
	return times
}

// stopWords is how many of the most frequent words of a language people do not search for.
const stopWords = 100

// question returns one of any form. Its words are as frequent as those of the pages, without stop words.
func question(c *corpus, random *rand.Rand) string {
	t := c.tongue[random.IntN(len(c.tongue))]
	zipf := rand.NewZipf(random, 1.1, 2.7, uint64(len(t.words)-1))
	word := func() string {
		for {
			if n := zipf.Uint64(); n >= stopWords {
				return t.words[n]
			}
		}
	}
	switch random.IntN(6) {
	case 0:
		return word() + " + " + word()
	case 1:
		return word() + " - " + word()
	case 2:
		return fmt.Sprintf("%s site:h%d.%s.example", word(), random.IntN(500), t.code)
	case 3:
		return `"` + word() + " " + word() + `"`
	case 4:
		return word() + " " + word() + " " + word() + " before:2018"
	}
	return word()
}

func size(b *testing.B, dir string) (n int64) {
	err := filepath.WalkDir(filepath.Join(dir, "work-1"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// peakMemory returns the largest resident memory of this process, in MB.
func peakMemory(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kb) / 1000
		}
	}
	return 0
}
