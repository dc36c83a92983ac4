// Package sinktest is the acceptance suite of webstore.Sink.
//
//	func TestSink(t *testing.T) {
//		folder := t.TempDir()
//		sinktest.Run(t, func(t *testing.T) (webstore.Sink, func() error) { return open(folder) })
//	}
package sinktest

import (
	"fmt"
	"testing"
	"time"

	"hce/dc/internal/apps/webserver/packet"
	"hce/dc/internal/apps/webserver/webstore"
)

// Run tests a sink. open opens it on the same data each time, which are empty at first, and returns how it
// is closed. The suite opens it again only after it has closed it.
func Run(t *testing.T, open func(t *testing.T) (sink webstore.Sink, closeSink func() error)) {
	t.Helper()
	sink, closeSink := open(t)
	page := func(n int, html string) packet.Document {
		return packet.Document{Kind: packet.Page, URL: fmt.Sprintf("http://a.example/%d", n), Title: "t", Words: []string{"uno"}, HTML: html, Size: int64(len(html)), Extension: "html"}
	}
	file := packet.Document{Kind: packet.File, URL: "http://a.example/foto_vacas.jpg", Words: []string{"foto", "vacas"}, Size: 5, Extension: "jpg", Modified: time.Unix(1e9, 0).UTC()}
	larger := file
	larger.Size = 6
	touched := page(1, "one")
	touched.Modified = time.Unix(1e9, 0).UTC()
	many, manyNew, manyOld := []packet.Document{}, []packet.Outcome{}, []packet.Outcome{}
	for i := range 64 {
		many, manyNew, manyOld = append(many, page(100+i, "same code")), append(manyNew, packet.New), append(manyOld, packet.Unchanged)
	}
	for _, step := range []struct {
		name   string
		reopen bool
		docs   []packet.Document
		want   []packet.Outcome
	}{
		{"new ones", false, []packet.Document{page(1, "one"), file}, []packet.Outcome{packet.New, packet.New}},
		{"again", false, []packet.Document{page(1, "one"), file}, []packet.Outcome{packet.Unchanged, packet.Unchanged}},
		{"only another time", false, []packet.Document{touched}, []packet.Outcome{packet.Unchanged}},
		{"changed", false, []packet.Document{larger, page(1, "two")}, []packet.Outcome{packet.Updated, packet.Updated}},
		{"after a restart", true, []packet.Document{page(1, "two"), larger, page(2, "x")}, []packet.Outcome{packet.Unchanged, packet.Unchanged, packet.New}},
		{"a version that was there before", false, []packet.Document{page(1, "one")}, []packet.Outcome{packet.Updated}},
		{"one URL three times", false, []packet.Document{page(3, "a"), page(3, "b"), page(3, "b")}, []packet.Outcome{packet.New, packet.Updated, packet.Unchanged}},
		{"a batch", false, many, manyNew},
		{"the batch after a restart", true, many, manyOld},
		{"the last version counts", false, []packet.Document{page(3, "b"), page(3, "a")}, []packet.Outcome{packet.Unchanged, packet.Updated}},
	} {
		if step.reopen {
			if err := closeSink(); err != nil {
				t.Fatal(err)
			}
			sink, closeSink = open(t)
		}
		got, err := sink.Store(t.Context(), step.docs)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(step.want) {
			t.Errorf("%s: %v, want %v; %v", step.name, got, step.want, err)
		}
	}
	if err := closeSink(); err != nil {
		t.Error(err)
	}
}
