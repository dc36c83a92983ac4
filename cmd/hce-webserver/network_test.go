package main

import (
	"crypto/md5"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/apps/webserver/handshake"
	"hce/dc/internal/apps/webserver/packet"
	"hce/dc/internal/testkit/testwait"
)

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// crawl asks a server for a crawler until it accepts.
func (n *node) crawl(t *testing.T) {
	t.Helper()
	address, err := handshake.CrawlerPort(n.host(), portStep)
	if err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the server accepts a crawler", func() bool {
		ok, err := handshake.Ask(t.Context(), (&net.Dialer{}).DialContext, address)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	})
}

// Two servers link to each other. The Web Store asks the first one, whose crawler goes on to the second;
// both send what they have, and then what has changed. Hosts whose time is old are asked again.
func TestNetwork(t *testing.T) {
	st := store(t, "period = 0.05\nage = 0\n")
	b := server(t, st.port, "", map[string]string{"b.html": "<title>b</title>", "utn_logo.gif": "GIF89a"})
	a := server(t, st.port, "", map[string]string{
		"index.html": fmt.Sprintf(`<title>A</title><meta name=keywords content="sistemas, operativos"><meta name=description content=d><a href="http://%s/b.html">b</a>`, b.host()),
	})
	b.write(t, "www/b.html", fmt.Sprintf(`<title>B</title><img src="http://%s/x.gif">`, a.host()))
	t.Setenv("DC_WebStore_first_server", a.host())
	st.start(t, "store")
	a.start(t, "serve")
	b.start(t, "serve")
	_ = st.cmd.Process.Signal(syscall.SIGUSR1)
	testwait.Until(t, "all documents are stored", func() bool { return st.log.Count("INFO: stored", "outcome=new") == 3 })
	if a.log.Count("migrated to a linked server", "host="+b.host()) == 0 {
		t.Error("the crawler did not migrate")
	}
	kinds := map[string]packet.Kind{}
	for _, r := range st.documents(t) {
		kinds[r.URL] = r.Kind
		if r.Title == "A" && (fmt.Sprint(r.Words) != "[sistemas operativos]" || r.Description != "d" || !strings.Contains(r.HTML, "<title>A")) {
			t.Errorf("%+v", r)
		}
	}
	if want := fmt.Sprint(map[string]packet.Kind{"http://" + a.host() + "/index.html": packet.Page, "http://" + b.host() + "/b.html": packet.Page, "http://" + b.host() + "/utn_logo.gif": packet.File}); fmt.Sprint(kinds) != want {
		t.Errorf("%v, want %s", kinds, want)
	}
	if hosts := st.hosts(t); len(hosts) != 2 || hosts[a.host()] == 0 || hosts[b.host()] == 0 {
		t.Errorf("%v", hosts)
	}
	b.write(t, "www/.new", "<title>changed</title>")
	if err := os.Rename(filepath.Join(b.dir, "www/.new"), filepath.Join(b.dir, "www/b.html")); err != nil {
		t.Fatal(err)
	}
	// Nobody asks for a crawler but the store, by its timer.
	testwait.Until(t, "the change is stored", func() bool { return st.log.Count("INFO: stored", "outcome=updated") == 1 })
	if got := b.ctl(t, "files"); !strings.Contains(got, fmt.Sprintf("%x  http://%s/b.html\n", md5.Sum([]byte("<title>changed</title>")), b.host())) {
		t.Error(got)
	}
	for _, n := range []*node{a, b, st} {
		n.stop(t)
	}
	if text := b.report(t); !strings.Contains(text, "complete") {
		t.Error(text)
	}
	if n := len(st.documents(t)); n != 4 {
		t.Errorf("%d records", n)
	}
}

// Out of service, the crawler port goes on. The Web Store begins at its start if it is told so.
func TestCrawlOutOfService(t *testing.T) {
	st := store(t, "start = 1\n")
	n := server(t, st.port, "", map[string]string{"a.html": "x"})
	t.Setenv("DC_WebStore_first_server", n.host())
	n.start(t, "serve")
	n.ctl(t, "off")
	st.start(t, "store")
	testwait.Until(t, "the document is stored", func() bool { return st.log.Count("INFO: stored", "a.html") == 1 })
	if status, _ := n.get(t, "a.html"); status != 503 {
		t.Error(status)
	}
}
