package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/apps/webserver/crawler"
	"hce/dc/internal/apps/webserver/handshake"
	"hce/dc/internal/apps/webserver/packet"
	"hce/dc/internal/testkit/testwait"
)

// end ends the program in order, if it was not killed. It reports whether it was.
func (n *node) end() (killed bool) {
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	return <-n.ended != nil
}

// runsOrEnds waits until the program runs or was killed.
func (n *node) runsOrEnds(t *testing.T) {
	t.Helper()
	testwait.Until(t, "the program runs or ends", func() bool { return n.log.Count(" runs ") > 0 || len(n.ended) > 0 })
}

// A Web Store is killed at each step of its writes. What it acknowledged is stored, each version once,
// each host has one current time, and the next start repairs what was torn.
func TestStoreKilledAtEveryStep(t *testing.T) {
	everyStep(t, storeKilledAt, 20, 7)
}

// everyStep calls kill for each step until a program is not killed, and checks how many kills there were,
// and in how many states they left the files.
func everyStep(t *testing.T, kill func(t *testing.T, step int) (killed bool, state string), leastKills, leastStates int) {
	t.Helper()
	states := map[string]bool{}
	for step := 1; ; step++ {
		killed, state := kill(t, step)
		if !killed {
			t.Logf("%d kills, %d states of the files: %v", step-1, len(states), states)
			if step-1 < leastKills || len(states) < leastStates {
				t.Error("too few kills")
			}
			return
		}
		states[state] = true
	}
}

// storeKilledAt returns whether the program was killed, and how many lines it left in its files.
func storeKilledAt(t *testing.T, step int) (killed bool, state string) {
	t.Helper()
	n := store(t, "")
	var docs []packet.Document
	for i := range 3 {
		docs = append(docs, packet.Document{Kind: packet.Page, URL: fmt.Sprintf("http://h%d.example/", i), HTML: fmt.Sprint("<p>", i), Size: 4})
	}
	n.env = []string{fmt.Sprintf("%s=%d", killStep, step)}
	n.launch(t, nil, "store")
	n.runsOrEnds(t)
	acknowledged := map[string]bool{}
	for _, d := range docs {
		if sendOne(n.host(), d) == nil {
			acknowledged[d.URL] = true
		}
	}
	killed, n.env = n.end(), nil
	state = lineCounts(n, "data/webstore/documents.jsonl", "data/webstore/expiry.jsonl")
	n.start(t, "store")
	before := map[string]bool{}
	for _, r := range n.documents(t) {
		before[r.URL] = true
	}
	for url := range acknowledged {
		if !before[url] {
			t.Errorf("step %d: %s was acknowledged and is lost", step, url)
		}
	}
	for _, d := range docs {
		if err := sendOne(n.host(), d); err != nil {
			t.Errorf("step %d: %v", step, err)
		}
	}
	n.stop(t)
	count := map[string]int{}
	for _, r := range n.documents(t) {
		count[r.URL]++
	}
	for _, d := range docs {
		if count[d.URL] != 1 {
			t.Errorf("step %d: %s is stored %d times", step, d.URL, count[d.URL])
		}
	}
	if hosts := n.hosts(t); len(hosts) != 3 {
		t.Errorf("step %d: hosts %v", step, hosts)
	}
	return killed, state
}

// lineCounts returns the numbers of lines of files.
func lineCounts(n *node, files ...string) (counts string) {
	for _, f := range files {
		b, _ := os.ReadFile(filepath.Join(n.dir, f))
		counts += fmt.Sprint(strings.Count(string(b), "\n"), " ")
	}
	return counts
}

// sendOne sends a document over a connection of its own and waits for the acknowledgement.
func sendOne(address string, d packet.Document) error {
	c, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	f, err := packet.Encode(d)
	if err != nil {
		return err
	}
	if err := errors.Join(c.SetDeadline(time.Now().Add(time.Minute)), packet.Write(c, f)); err != nil {
		return err
	}
	r, err := packet.Read(c, packet.MaxAnswer)
	if err == nil && r.Kind != packet.Stored {
		err = fmt.Errorf("answer %d", r.Kind)
	}
	return err
}

// A web server is killed at each step of the writes of its table. The next run sends what is not in the
// table; the store has each document once.
func TestServerKilledAtEveryStep(t *testing.T) {
	everyStep(t, serverKilledAt, 8, 4)
}

func serverKilledAt(t *testing.T, step int) (killed bool, state string) {
	t.Helper()
	st := store(t, "")
	n := server(t, st.port, "", map[string]string{"a.html": "<p>a", "b.html": "<p>b", "c.bin": "c"})
	st.start(t, "store")
	n.env = []string{fmt.Sprintf("%s=%d", killStep, step)}
	n.launch(t, nil, "serve")
	n.runsOrEnds(t)
	if len(n.ended) == 0 {
		_, _ = handshake.Ask(t.Context(), (&net.Dialer{}).DialContext, fmt.Sprintf("127.0.0.1:%d", n.port+portStep))
		testwait.Until(t, "the crawler ends or is killed", func() bool { return n.log.Count("crawler ends") > 0 || len(n.ended) > 0 })
	}
	killed, n.env = n.end(), nil
	state = lineCounts(n, "data/webserver/md5.jsonl")
	n.finish(t, st, 3)
	return killed, state
}

// finish starts the server again, and checks table and store after another run.
func (n *node) finish(t *testing.T, st *node, files int) {
	t.Helper()
	n.start(t, "serve")
	n.crawl(t)
	testwait.Until(t, "the crawler ends", func() bool { return n.log.Count("crawler ends") > 0 })
	n.stop(t)
	table := map[string]string{}
	for _, e := range lines[crawler.Entry](t, filepath.Join(n.dir, "data/webserver/md5.jsonl")) {
		table[e.URL] = e.MD5
	}
	count := map[string]int{}
	for _, r := range st.documents(t) {
		count[r.URL]++
	}
	if len(table) != files || len(count) != files {
		t.Errorf("table %v, store %v", table, count)
	}
	for url, c := range count {
		if c != 1 {
			t.Errorf("%s is stored %d times", url, c)
		}
	}
}

// relay passes one connection to the Web Store on, and calls at before and after each packet and each
// answer.
func relay(t *testing.T, store string, at func(step string, nth int)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := context.AfterFunc(t.Context(), func() { _ = l.Close() })
	t.Cleanup(func() { stop(); _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		s, err := net.Dial("tcp", store)
		if err != nil {
			return
		}
		defer s.Close()
		for nth := 0; ; nth++ {
			at("packet", nth)
			f, err := packet.Read(c, packet.MaxPayload)
			if err != nil || packet.Write(s, f) != nil {
				return
			}
			answer, err := packet.Read(s, packet.MaxAnswer)
			if err != nil {
				return
			}
			at("stored", nth)
			_ = packet.Write(c, answer)
			at("answered", nth)
		}
	}()
	return l.Addr().String()
}

// A web server is killed before each packet, when the store has stored it, and when the answer is on its
// way. Nothing is lost, and nothing is stored twice.
func TestServerKilledAtEveryPacket(t *testing.T) {
	for _, at := range []string{"packet", "stored", "answered"} {
		for nth := range 3 {
			st := store(t, "")
			st.start(t, "store")
			n := server(t, st.port, "", map[string]string{"a.html": "<p>a", "b.html": "<p>b", "c.bin": "c"})
			process := make(chan *os.Process, 1)
			address := relay(t, st.host(), func(s string, i int) {
				if s == at && i == nth {
					_ = (<-process).Kill()
				}
			})
			t.Setenv("DC_Crawler_web_store", address)
			n.start(t, "serve")
			process <- n.cmd.Process
			n.crawl(t)
			if err := <-n.ended; err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("%s %d: %v", at, nth, err)
			}
			t.Setenv("DC_Crawler_web_store", st.host())
			n.finish(t, st, 3)
			st.stop(t)
		}
	}
}

// What a torn write leaves in the files is repaired at the start.
func TestTornFiles(t *testing.T) {
	st := store(t, "")
	st.start(t, "store")
	n := server(t, st.port, "", map[string]string{"a.html": "<p>a", "b.html": "<p>b"})
	n.start(t, "serve")
	n.crawl(t)
	testwait.Until(t, "the crawler ends", func() bool { return n.log.Count("crawler ends") > 0 })
	n.kill()
	st.kill()
	for _, path := range []string{filepath.Join(n.dir, "data/webserver/md5.jsonl"), filepath.Join(st.dir, "data/webstore/documents.jsonl"), filepath.Join(st.dir, "data/webstore/expiry.jsonl")} {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(f, `{"url":"http://torn`)
		_ = f.Close()
	}
	st.start(t, "store")
	n.finish(t, st, 2)
	st.stop(t)
}

// A server with many files and its store are killed in turn while a crawler works. In the end the store has
// each document once, and the table has each file.
func TestKilledInTurn(t *testing.T) {
	const files = 80
	pages := map[string]string{}
	for i := range files {
		pages[fmt.Sprintf("sub/%02d.html", i)] = fmt.Sprintf("<title>%d</title>%s", i, strings.Repeat("text ", 2000))
	}
	st := store(t, "")
	n := server(t, st.port, "", pages)
	st.start(t, "store")
	for round := range 6 {
		n.start(t, "serve")
		n.crawl(t)
		stored := 3 + 4*round
		testwait.Until(t, "some documents are stored", func() bool {
			return st.log.Count("INFO: stored") >= stored || n.log.Count("crawler ends") > 0
		})
		if round%2 == 0 {
			n.kill()
			continue
		}
		st.kill()
		testwait.Until(t, "the crawler gives up", func() bool { return n.log.Count("crawler ends") > 0 })
		n.stop(t)
		st.start(t, "store")
	}
	n.finish(t, st, files)
	st.stop(t)
}
