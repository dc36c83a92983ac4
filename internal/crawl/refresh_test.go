package crawl_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

func TestMetaRefresh(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		refresh := func(target string) {
			page(w, `<html><head><meta http-equiv='Refresh' content="0; url=`+target+`"></head>`)
		}
		switch r.URL.Path {
		case "/one":
			refresh("two")
		case "/self":
			refresh("/self")
		case "/reload":
			page(w, `<meta http-equiv=refresh content=30>`)
		case "/loop1":
			refresh("/loop2")
		case "/loop2":
			refresh("/loop1")
		case "/three":
			refresh("/one")
		case "/out":
			refresh("/closed")
		case "/based":
			page(w, `<base href="/dir/"><meta http-equiv=refresh content="1;url='page'">`)
		case "/news":
			page(w, `<noscript><meta http-equiv=refresh content="0;url=/two"></noscript><p>The boats could leave the port again.`)
		case "/shell":
			page(w, `<title>The boats could leave again</title><noscript><meta http-equiv=refresh content="0;url=/two">Please switch on scripts to read this.</noscript><script>load("the boats and the port")</script><p>Redirecting…`)
		case "/both":
			page(w, `<noscript><meta http-equiv=refresh content="0;url=/no"></noscript><meta http-equiv=refresh content="0;url=/two"><p>The boats could leave the port again.`)
		case "/template":
			page(w, `<template><meta http-equiv=refresh content="0;url=/two"></template><p>The boats could leave the port again.`)
		case "/five":
			page(w, `<meta http-equiv=refresh content="5.9;url=/two">`)
		case "/six":
			page(w, `<meta http-equiv=refresh content="6;url=/two">`)
		case "/missing":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `<meta http-equiv=refresh content="0;url=/two">`)
		case "/text":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, `<meta http-equiv=refresh content="0;url=/two">`)
		default:
			page(w, `<a href="/from`+r.URL.Path+`">x</a>`)
		}
	})
	tests := []struct {
		path, most string
		bits       errormask.Mask
		base       string
		requests   int
	}{
		{"/one", "1", 0, "/two", 2},
		{"/one", "0", 0, "/one", 1},
		{"/one", "-1", 0, "/one", 1},
		{"/self", "1", 0, "/self", 1},
		{"/reload", "1", 0, "/reload", 1},
		{"/three", "2", 0, "/two", 3},
		{"/three", "1", errormask.MaxHTMLRedirects, "", 2},
		{"/loop1", "5", 0, "/loop2", 2},
		{"/out", "1", errormask.FiltersBreak, "", 1},
		{"/based", "1", 0, "/dir/page", 2},
		{"/news", "1", 0, "/news", 1},
		{"/shell", "1", 0, "/two", 2},
		{"/both", "1", 0, "/two", 2},
		{"/template", "1", 0, "/template", 1},
		{"/five", "1", 0, "/two", 2},
		{"/six", "1", 0, "/six", 1},
		{"/missing", "1", errormask.HTTP, "", 1},
		{"/text", "1", 0, "/text", 1},
	}
	for _, tt := range tests {
		t.Run(tt.path+" "+tt.most, func(t *testing.T) {
			w := newWorld(t)
			w.addSite("s", "HTML_REDIRECTS_MAX", tt.most).Filters = append(w.Sites["s"].Filters, wire.SiteFilter{Pattern: "/closed", Stage: 5, Action: -1, State: 1})
			s.mu.Lock()
			s.visits = nil
			s.mu.Unlock()
			it := w.item("s", s.URL+tt.path, func(u *wire.URL) { u.ParentMd5 = wire.Md5("parent") })
			answer := w.run(batchOf(it))
			if row := w.row(it); row.ErrorMask != tt.bits {
				t.Errorf("%v, want %v", row.ErrorMask.Names(), tt.bits.Names())
			}
			if got := len(s.paths()); got != tt.requests {
				t.Errorf("%d requests, want %d", got, tt.requests)
			}
			if tt.base != "" && (len(answer.Items) != 1 || !strings.HasSuffix(answer.Items[0].BaseURL, tt.base)) {
				t.Errorf("answer %+v", answer.Items)
			}
		})
	}
}
