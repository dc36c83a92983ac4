package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/process"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/realtimeresponse"
	"hce/dc/internal/wire/result"
)

// fakeScratch is a process.Scratch in memory that records removed folders.
type fakeScratch struct {
	raw     map[string]string // by folder, space, key of a URL
	stored  map[string]string // by key of a URL
	removed []string
	fails   error
}

func (s *fakeScratch) RawContent(_ context.Context, folder, _, md5 string, _ int) ([]byte, error) {
	return []byte(s.raw[folder+" "+md5]), s.fails
}

func (s *fakeScratch) AddFiles(_ context.Context, folder, _, md5 string, _ int64, a *wire.URLContentResponse) error {
	if text := s.raw[folder+" "+md5]; text != "" {
		a.RawContents = append(a.RawContents, wire.Content{Buffer: text})
	}
	return s.fails
}

func (s *fakeScratch) Stored(_ context.Context, _, md5 string) (wire.Entry, bool, error) {
	text, ok := s.stored[md5]
	return wire.Entry{ID: md5, Data: []byte(text)}, ok, s.fails
}

func (s *fakeScratch) Processed(e wire.Entry, _ int64) ([]any, error) {
	text, err := result.Expand(e.Data)
	return []any{string(text)}, err
}
func (s *fakeScratch) Remove(folder string) error { s.removed = append(s.removed, folder); return nil }
func (s *fakeScratch) RemoveOthers(run string) error {
	s.removed = append(s.removed, "others than "+run)
	return nil
}

// fetched returns an item that the batch has fetched.
func fetched(path string) wire.BatchItem {
	u := wire.NewURL("s", "http://h"+path)
	u.Status, u.HTTPCode, u.BatchID, u.ContentType, u.ContentMask = wire.StatusCrawled, 200, batchID, "text/html", 1
	return wire.BatchItem{SiteID: "s", URLID: u.URLMd5, URL: u}
}

func TestFinalizer(t *testing.T) {
	f := newFixture(t)
	items := []wire.BatchItem{fetched("/a"), fetched("/none"), fetched("/failed"), fetched("/late"), fetched("/stored"), fetched("/unknown-site")}
	items[2].URL.State, items[2].URL.ErrorMask = wire.URLError, errormask.MIME
	items[3].URL.Status, items[3].URL.HTTPCode = wire.StatusNew, 0
	items[4].URL.BatchID, items[4].Properties = 0, map[string]string{"reprocess": "0"}
	items[5].SiteID, items[5].URL.SiteID = "nobody", "nobody"
	s := &fakeScratch{
		raw:    map[string]string{"f " + items[0].URLID: article, "f " + items[5].URLID: article},
		stored: map[string]string{items[4].URLID: "kept"},
	}
	job := *f.job
	job.Scratch = s
	finalizer := &process.Finalizer{Job: job}
	request, err := json.Marshal(wire.Batch{ID: batchID, CrawlerType: wire.CrawlRealTime, DBMode: wire.DBRead, Folder: "f", Items: items})
	if err != nil {
		t.Fatal(err)
	}
	answered, err := finalizer.Run(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	a := answered.(realtimeresponse.Answer)
	if len(a.Contents) != len(items) || len(a.Grades) != len(items) || a.Retry != nil {
		t.Fatalf("answer %+v", a)
	}
	for i, want := range []struct {
		content string
		bits    errormask.Mask
	}{{"The title", 0}, {"", errormask.RawMissing}, {"", errormask.MIME}, {"", errormask.MaxExecutionTime}, {"kept", 0}, {"The title", 0}} {
		c := a.Contents[i]
		if text := fmt.Sprint(c.ProcessedContents...); want.content == "" && text != "" || !strings.Contains(text, want.content) || c.DBFields["ErrorMask"] != want.bits {
			t.Errorf("item %d: %.60q, %v, want %q, %v", i, text, c.DBFields["errorNames"], want.content, want.bits.Names())
		}
	}
	if len(f.Saves) > 0 || fmt.Sprint(s.removed) != "[f]" {
		t.Errorf("saved %v, removed %q", f.Saves, s.removed)
	}
}

// The answer asks for a retry of poor pages in a browser.
// docs/spec/processing.md 2.7.
func TestFinalizerRetriesPoorPages(t *testing.T) {
	f := newFixture(t)
	job := *f.job
	poor := fetched("/poor")
	job.Scratch = &fakeScratch{raw: map[string]string{"f " + poor.URLID: "<p>x"}}
	f.Sites["s"].FetchType = 7
	request, err := json.Marshal(wire.Batch{ID: batchID, CrawlerType: wire.CrawlRealTime, DBMode: wire.DBRead, Folder: "f", Items: []wire.BatchItem{poor}})
	if err != nil {
		t.Fatal(err)
	}
	answered, err := (&process.Finalizer{Job: job}).Run(context.Background(), request)
	if err != nil {
		t.Fatal(err)
	}
	a := answered.(realtimeresponse.Answer)
	if a.Retry == nil || len(a.Retry.Items) != 1 || a.Retry.Items[0].Site.Row["FetchType"] != int64(2) || len(a.Contents) != 1 {
		t.Errorf("answer %+v", a)
	}
}

// The time limit includes the time of earlier tasks, but leaves a minimum.
func TestFinalizerSharesTime(t *testing.T) {
	f := newFixture(t)
	job := *f.job
	now := time.Now()
	item := fetched("/a")
	s := &fakeScratch{raw: map[string]string{"f " + item.URLID: article}}
	job.Scratch = s
	for _, tt := range []struct {
		name  string
		spent int64         // ms of 20 s
		step  time.Duration // of the clock, for each call
		late  bool
	}{{"enough time", 0, 5 * time.Second, false}, {"not enough time", 19000, 7 * time.Second, true}, {"minimum time", 99000, 500 * time.Millisecond, false}} {
		t.Run(tt.name, func(t *testing.T) {
			calls := 0
			job.Now = func() time.Time { calls++; return now.Add(time.Duration(calls-1) * tt.step) }
			request, err := json.Marshal(wire.Batch{ID: batchID, CrawlerType: wire.CrawlRealTime, DBMode: wire.DBRead, Folder: "f", MaxExecutionTime: 20, Spent: tt.spent, Items: []wire.BatchItem{item}})
			if err != nil {
				t.Fatal(err)
			}
			answered, err := (&process.Finalizer{Job: job}).Run(context.Background(), request)
			if err != nil {
				t.Fatal(err)
			}
			if late := answered.(realtimeresponse.Answer).Contents[0].DBFields["ErrorMask"] == errormask.MaxExecutionTime; late != tt.late {
				t.Errorf("late: %t", late)
			}
		})
	}
}

func TestFinalizerRequests(t *testing.T) {
	f := newFixture(t)
	job := *f.job
	s := &fakeScratch{}
	job.Scratch = s
	finalizer := &process.Finalizer{Job: job}
	ask := func(request string) (string, error) {
		answer, err := finalizer.Run(context.Background(), json.RawMessage(request))
		text, _ := json.Marshal(answer)
		return string(text), err
	}
	if _, err := ask(`{"forget":{"folder":"x"}}`); err != nil {
		t.Error(err)
	}
	if _, err := ask(`{"forget":{"others":"run"}}`); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(s.removed); got != "[x others than run]" {
		t.Errorf("removed %s", got)
	}
	if got, err := ask(`{"errorCode":1,"errorMessage":"no"}`); err != nil || got != `{"errorCode":1,"errorMessage":"no"}` {
		t.Errorf("error answer of an earlier task: %s, %v", got, err)
	}
	if _, err := ask(`{"id":7,"crawlerType":1,"items":[]}`); err == nil || !strings.Contains(err.Error(), "real time") {
		t.Errorf("batch of another type: %v", err)
	}
	if _, err := ask(`[]`); err == nil {
		t.Error("a list is accepted")
	}
	var field *lenient.FieldError
	if _, err := ask(`{"id":7,"crawlerType":4,"contentFolder":"../x","items":[]}`); !errors.As(err, &field) || field.Field != "contentFolder" {
		t.Errorf("invalid folder name: %v", err)
	}
}
