package browser

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
)

// floodingChromium answers the commands of the driver. Before it detaches a page, it sends
// more events of that page than the driver has room for.
func floodingChromium(commands io.Reader, messages io.Writer) {
	results := map[string]string{
		"Target.createBrowserContext": `{"browserContextId":"C"}`,
		"Target.createTarget":         `{"targetId":"T"}`,
		"Target.attachToTarget":       `{"sessionId":"S"}`,
		"Target.closeTarget":          `{"success":true}`,
		"Target.getTargets":           `{"targetInfos":[]}`,
		"Runtime.evaluate":            `{"result":{"type":"object","className":"Window"}}`,
	}
	send := func(format string, args ...any) { fmt.Fprintf(messages, format+"\x00", args...) }
	for from := bufio.NewReader(commands); ; {
		line, err := from.ReadBytes(0)
		if err != nil {
			return
		}
		var command struct {
			ID                int
			Method, SessionID string
		}
		if err := json.Unmarshal(line[:len(line)-1], &command); err != nil {
			panic(err)
		}
		if command.Method == "Target.detachFromTarget" {
			for range 5000 {
				send(`{"method":"Page.loadEventFired","sessionId":"S","params":{"timestamp":1}}`)
			}
			send(`{"method":"Target.detachedFromTarget","params":{"sessionId":"S"}}`)
		}
		result, known := results[command.Method]
		if !known {
			result = "{}"
		}
		send(`{"id":%d,"sessionId":%q,"result":%s}`, command.ID, command.SessionID, result)
	}
}

// A page that sends events while it closes must not block the driver: the next page of
// the same browser opens.
func TestPageFloodsWhileItCloses(t *testing.T) {
	toUs, fromIt, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	toIt, fromUs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go floodingChromium(toIt, fromIt)
	log := slog.New(slog.DiscardHandler)
	c := &chromium{log: log, gone: make(chan struct{}), control: newPipe(toUs, fromUs, 1<<20)}
	if err := c.connectDriver(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cancel(); closeAll([]*os.File{fromIt, toIt}) })
	for range 3 {
		v := &visit{cfg: &Config{Log: log, MaxTraffic: 1}, chromium: c, req: &Request{}, changed: make(chan struct{})}
		v.time = newBudget(t.Context(), DefaultTimeout)
		if err := v.openPage(v.time); err != nil {
			t.Fatal(err)
		}
		v.time.stop()
		v.closePage()
		if c.retired {
			t.Fatal("the page does not close")
		}
	}
}
