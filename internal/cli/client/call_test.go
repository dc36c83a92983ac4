package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/cli/command"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/daemon/bus"
	"hce/dc/internal/daemon/manager/managertest"
	"hce/dc/internal/wire"
)

// daemon is a server that replies to each event with the events that answer returns.
func daemon(t *testing.T, answer func(e wire.Event) []wire.Event) Server {
	t.Helper()
	endpoint := managertest.Serve(t, managertest.Bus(t), "tcp://127.0.0.1:*", answer)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(endpoint, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return Server{Host: "127.0.0.1", Port: n, Timeout: 20 * time.Second}
}

// reply returns the reply to e with a type and an object.
func reply(e wire.Event, eventType int, object string) wire.Event {
	return wire.Event{Class: e.Class, UID: e.UID, Type: eventType, Object: json.RawMessage(object), Cookie: e.Cookie}
}

const oneItem = `{"errorCode":0,"errorMessage":"","itemsList":[{"errorCode":0,"itemObject":{"n":18446744073709551615}}]}`

func text(t *testing.T, o Outcome) string {
	t.Helper()
	b, err := Text(o.JSON)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCall(t *testing.T) {
	no := false
	yes := true
	for name, c := range map[string]struct {
		call   Call
		answer func(e wire.Event) []wire.Event
		limit  time.Duration
		exit   int
		has    string
	}{
		"answer": {
			answer: func(e wire.Event) []wire.Event { return []wire.Event{reply(e, e.Type+100, oneItem)} },
			has:    `"n": 18446744073709551615`,
		},
		"refused by the service": {
			answer: func(e wire.Event) []wire.Event {
				return []wire.Event{reply(e, e.Type+100, `{"errorCode":2,"errorMessage":"empty list of nodes","itemsList":[]}`)}
			},
			has: `"errorCode": 2`,
		},
		"reply to another request first": {
			answer: func(e wire.Event) []wire.Event {
				other := reply(e, e.Type+100, `{"itemsList":[]}`)
				other.UID = bus.NewUID()
				return []wire.Event{other, reply(e, e.Type+100, oneItem)}
			},
			has: `"n": 18446744073709551615`,
		},
		"merge": {
			call: Call{Merge: &yes},
			answer: func(e wire.Event) []wire.Event {
				return []wire.Event{reply(e, e.Type+100, `{"itemsList":[`+string(e.Cookie["MERGE_RESULTS"])+`]}`)}
			},
			has: "\n        1\n",
		},
		"do not merge": {
			call: Call{Merge: &no},
			answer: func(e wire.Event) []wire.Event {
				return []wire.Event{reply(e, e.Type+100, `{"itemsList":[`+string(e.Cookie["MERGE_RESULTS"])+`]}`)}
			},
			has: "\n        0\n",
		},
		"no merge cookie": {
			answer: func(e wire.Event) []wire.Event {
				return []wire.Event{reply(e, e.Type+100, `{"itemsList":[`+strconv.Itoa(len(e.Cookie))+`]}`)}
			},
			has: "\n        0\n",
		},
		"wrong shape": {
			answer: func(e wire.Event) []wire.Event { return []wire.Event{reply(e, e.Type+100, `{"errorCode":0}`)} },
			exit:   1, has: "the answer to SITE_STATUS is no ClientResponse",
		},
		"a list": {
			answer: func(e wire.Event) []wire.Event { return []wire.Event{reply(e, e.Type+100, `[]`)} },
			exit:   1, has: "is no ClientResponse",
		},
		"reply of another operation": {
			answer: func(e wire.Event) []wire.Event { return []wire.Event{reply(e, 101, oneItem)} },
			exit:   1, has: "is no ClientResponse",
		},
		"no answer": {
			answer: func(wire.Event) []wire.Event { return nil }, limit: 50 * time.Millisecond,
			exit: 1, has: "within 50 ms",
		},
		"wrong request": {
			call: Call{Object: json.RawMessage(`[]`)},
			exit: 1, has: "SITE_STATUS: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.call.Server = daemon(t, func(e wire.Event) []wire.Event {
				if e.Class != wire.ClassClient || e.Type != int(wire.SiteStatus) || string(e.Object) != `{"id":"a"}` {
					t.Errorf("event %+v", e)
				}
				return c.answer(e)
			})
			if c.limit > 0 {
				c.call.Server.Timeout = c.limit
			}
			c.call.Op = wire.SiteStatus
			if c.call.Object == nil {
				c.call.Object = json.RawMessage(`{"id":"a"}`)
			}
			out := c.call.Do(t.Context())
			got := text(t, out)
			if out.Exit != c.exit || !strings.Contains(got, c.has) {
				t.Errorf("exit %d %s; want %d %s", out.Exit, got, c.exit, c.has)
			}
			if c.exit != 0 && !strings.Contains(got, `"error_code": `+strconv.Itoa(c.exit)) {
				t.Errorf("%s without error_code %d", got, c.exit)
			}
		})
	}
	t.Run("wrong address", func(t *testing.T) {
		out := Call{Op: wire.SiteStatus, Object: json.RawMessage(`{"id":"a"}`), Server: Server{Host: "no such host", Port: 1, Timeout: time.Second}}.Do(t.Context())
		if out.Exit != 5 {
			t.Errorf("exit %d %s", out.Exit, text(t, out))
		}
	})
	t.Run("no daemon", func(t *testing.T) {
		out := Call{Op: wire.SiteStatus, Object: json.RawMessage(`{"id":"a"}`), Server: Server{Host: "127.0.0.1", Port: 1, Timeout: 24 * time.Hour}}.Do(t.Context())
		if out.Exit != 1 || out.Status != command.ExitFailed || !strings.Contains(text(t, out), "cannot reach the daemon at 127.0.0.1:1: connection refused; start dc-daemon") {
			t.Errorf("exit %d %s", out.Exit, text(t, out))
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		out := Call{Op: wire.SiteStatus, Object: json.RawMessage(`{"id":"a"}`), Server: Server{Host: "127.0.0.1", Port: 1, Timeout: time.Minute}}.Do(ctx)
		if out.Exit != command.ExitInterrupted || !strings.Contains(text(t, out), "interrupted") {
			t.Errorf("exit %d %s", out.Exit, text(t, out))
		}
	})
}

// A daemon that ends before its answer is noticed at once.
func TestDaemonEnds(t *testing.T) {
	server, err := managertest.Bus(t).Bind("tcp://127.0.0.1:*", bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(server.Endpoint(), "tcp://"))
	n, _ := strconv.Atoi(port)
	out := make(chan Outcome, 1)
	go func() {
		out <- Call{Op: wire.SiteStatus, Object: json.RawMessage(`{"id":"a"}`), Server: Server{Host: "127.0.0.1", Port: n, Timeout: time.Hour}}.Do(t.Context())
	}()
	poller := bus.NewPoller(server)
	for asked := false; !asked; {
		if _, err := poller.Wait(time.Second); err != nil {
			t.Fatal(err)
		}
		_, err := server.Recv()
		asked = err == nil
	}
	server.Close()
	if o := <-out; o.Status != command.ExitFailed || !strings.Contains(text(t, o), "has ended the connection") {
		t.Errorf("status %d %s", o.Status, text(t, o))
	}
}

// An answer without the parts of some nodes is decoded, and the error names the nodes. Codes that are joined
// of several nodes are no failure.
func TestIncompleteAnswer(t *testing.T) {
	const away = `{"errorCode":2,"errorMessage":"node n2 gave no answer","itemObject":null}`
	for name, c := range map[string]struct {
		op     wire.Op
		items  string
		code   int
		decode bool
		says   string
		later  bool
	}{
		"whole":            {wire.SiteStatus, `{"errorCode":"0;0","itemObject":{"id":"a"}}`, 0, true, "", false},
		"a read":           {wire.SiteStatus, `{"errorCode":0,"itemObject":{"id":"a"}},` + away, 0, true, "SITE_STATUS: node n2 gave no answer", false},
		"a change":         {wire.SiteUpdate, `{"errorCode":0,"itemObject":{"id":"a"}},` + away, 0, true, "node n2", true},
		"no node is there": {wire.SiteStatus, away, 2, false, "no answer: all are away", false},
		"refused":          {wire.SiteStatus, away, 0, false, "node n2", false},
	} {
		t.Run(name, func(t *testing.T) {
			server := daemon(t, func(e wire.Event) []wire.Event {
				return []wire.Event{reply(e, e.Type+100, `{"errorCode":`+strconv.Itoa(c.code)+`,"errorMessage":"all are away","itemsList":[`+c.items+`]}`)}
			})
			var site wire.Site
			err := server.Ask(t.Context(), c.op, map[string]any{"id": "a"}, &site)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) || (site.ID == "a") != c.decode {
				t.Errorf("%v, site %q", err, site.ID)
			}
			var part *service.Incomplete
			if is := errors.As(err, &part); is != (c.decode && err != nil) || is && part.Later() != c.later {
				t.Errorf("%T", err)
			}
			if c.code != 0 && !errors.Is(err, service.ErrUnreachable) {
				t.Errorf("%v", err)
			}
		})
	}
}

// The managers are those of the ini file, or those that the daemon names.
func TestManagers(t *testing.T) {
	server := daemon(t, func(e wire.Event) []wire.Event {
		return []wire.Event{reply(e, wire.AdminStatAns, `{"className":"AdminInterfaceServer","fields":{"managers":["AdminInterfaceServer","Cluster"]}}`)}
	})
	for name, c := range map[string]struct {
		i           Installation
		start, stop string
	}{
		"of the daemon": {Installation{Admin: server}, "[AdminInterfaceServer Cluster]", "[Cluster AdminInterfaceServer]"},
		"of the file":   {Installation{Admin: server, Start: []string{"A", "B"}, Stop: []string{"B"}}, "[A B]", "[B]"},
		"no answer":     {Installation{Admin: Server{Host: "127.0.0.1", Port: 1, Timeout: time.Second}}, fmt.Sprint(Managers), ""},
	} {
		start, stop := c.i.Managers(t.Context())
		if fmt.Sprint(start) != c.start || c.stop != "" && fmt.Sprint(stop) != c.stop {
			t.Errorf("%s: %v %v", name, start, stop)
		}
	}
}
