package events

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/cli/actions"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/testkit/testwait"
)

// loopback lets webhooks reach the receivers of tests.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// message is what a receiver has got.
type message struct {
	id    string
	event Event
}

// receiver is the server of a webhook. It checks all signatures.
type receiver struct {
	testing.TB
	url string

	mu     sync.Mutex
	secret string
	got    []message
	answer func(e Event) int // nil: 204
}

func newReceiver(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{TB: t}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL + "/hook?token=hidden"
	return r
}

// ServeHTTP receives an event.
func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the sender was killed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if fault := verify(r.secret, q.Header, body, time.Now()); fault != nil {
		r.Errorf("%s: %v", body, fault)
	}
	m := message{id: q.Header.Get("webhook-id")}
	if err := json.Unmarshal(body, &m.event); err != nil {
		r.Error(err)
	}
	status := http.StatusNoContent
	if r.answer != nil {
		status = r.answer(m.event)
	}
	if status == http.StatusFound {
		w.Header().Set("Location", "/elsewhere")
	}
	r.got = append(r.got, m)
	w.WriteHeader(status)
}

// verify checks a message as the page of Standard Webhooks tells receivers to do.
func verify(secret string, h http.Header, body []byte, now time.Time) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return err
	}
	var at int64
	if _, err := fmt.Sscan(h.Get("webhook-timestamp"), &at); err != nil || now.Sub(time.Unix(at, 0)).Abs() > 5*time.Minute {
		return errors.New("the timestamp is too old or too new")
	}
	sum := hmac.New(sha256.New, key)
	fmt.Fprintf(sum, "%s.%d.%s", h.Get("webhook-id"), at, body)
	for one := range strings.FieldsSeq(h.Get("webhook-signature")) {
		if version, text, _ := strings.Cut(one, ","); version == "v1" && hmac.Equal([]byte(text), []byte(base64.StdEncoding.EncodeToString(sum.Sum(nil)))) {
			return nil
		}
	}
	return errors.New("no signature fits")
}

// set changes the answer.
func (r *receiver) set(answer func(e Event) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// messages returns what has arrived.
func (r *receiver) messages() []message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// await waits until a number of messages has arrived.
func (r *receiver) await(n int) []message {
	r.Helper()
	testwait.Until(r, fmt.Sprint(n, " messages arrive"), func() bool { return len(r.messages()) >= n })
	return r.messages()
}

// The example of the specification, and messages that were changed on the way.
func TestSignature(t *testing.T) {
	const secret, id = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
	body := []byte(`{"test": 2432232314}`)
	text, err := signBody(secret, id, 1614265330, body)
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; err != nil || text != want {
		t.Errorf("signature %s %v, want %s", text, err, want)
	}
	at := time.Unix(1614265330, 0)
	header := func(id, stamp string) http.Header {
		return http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {text}}
	}
	for name, tt := range map[string]struct {
		header http.Header
		body   string
		now    time.Time
		good   bool
	}{
		"as sent":       {header(id, "1614265330"), string(body), at, true},
		"other body":    {header(id, "1614265330"), `{"test": 2432232315}`, at, false},
		"other id":      {header("msg_x", "1614265330"), string(body), at, false},
		"other time":    {header(id, "1614265331"), string(body), at, false},
		"replayed late": {header(id, "1614265330"), string(body), at.Add(time.Hour), false},
	} {
		if err := verify(secret, tt.header, []byte(tt.body), tt.now); (err == nil) != tt.good {
			t.Errorf("%s: %v", name, err)
		}
	}
	if one, two := newSecret(), newSecret(); one == two || len(one) != len(secretPrefix)+44 {
		t.Errorf("secrets %s and %s", one, two)
	}
}

// clock is a clock that a test moves. Who waits for it is woken by each move.
type clock struct {
	mu      sync.Mutex
	at      time.Time
	waiting []chan time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) after(time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := make(chan time.Time, 1)
	c.waiting = append(c.waiting, one)
	return one
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	for _, one := range c.waiting {
		one <- c.at
	}
	c.waiting = nil
}

// webhook creates a webhook of a receiver.
func (w *watch) webhook(r *receiver, n NewWebhook) Webhook {
	w.Helper()
	n.URL = r.url
	h, secret, err := w.CreateWebhook(w.Context(), n)
	if err != nil {
		w.Fatal(err)
	}
	r.mu.Lock()
	r.secret = secret
	r.mu.Unlock()
	return h
}

// state returns the webhook as it is.
func (w *watch) state(id string) Webhook {
	w.Helper()
	h, err := w.Webhook(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return h
}

// Events arrive signed, in order and filtered. A replay sends them again with the same ids. The secret is shown once.
func TestDelivery(t *testing.T) {
	stores := storestest.Open(t)
	w := open(t, stores, func(c *Config) { c.Networks = loopback })
	w.begin()
	all, some := newReceiver(t), newReceiver(t)
	h := w.webhook(all, NewWebhook{Types: []string{PageNew, PageChanged}})
	site, other := stores.NewSite(root), stores.NewSite("https://other.example/")
	w.webhook(some, NewWebhook{Sites: []string{other}, Types: []string{PageNew}})
	stores.AddPages(site, root, 50)
	stores.AddPage(other, "https://other.example/1", "One", "text")
	got := all.await(51)
	for i := 1; i < len(got); i++ {
		if got[i].event.ID <= got[i-1].event.ID {
			t.Fatalf("event %d after %d", got[i].event.ID, got[i-1].event.ID)
		}
	}
	if list := some.await(1); len(list) != 1 || list[0].event.Data.Site != other {
		t.Errorf("the other webhook got %+v", list)
	}
	testwait.Until(t, "the position is stored", func() bool { return w.state(h.ID).Position >= got[50].event.ID })
	if _, err := w.Replay(t.Context(), h.ID, got[20].event.ID); err != nil {
		t.Fatal(err)
	}
	again := all.await(51 + 31)
	for i := range 31 {
		if a, b := got[20+i], again[51+i]; a.id != b.id || a.event.ID != b.event.ID {
			t.Errorf("replayed %+v, want %+v", b, a)
		}
	}
	list, err := w.Webhooks(t.Context())
	text, _ := json.Marshal(list)
	if err != nil || len(list) != 2 || strings.Contains(string(text), all.secret) {
		t.Errorf("webhooks %s %v", text, err)
	}
	info, err := os.Stat(filepath.Join(w.cfg.Dir, FileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	if err := w.DeleteWebhook(t.Context(), h.ID); err != nil {
		t.Fatal(err)
	}
	missing := (*actions.NotFound)(nil)
	if _, err := w.Webhook(t.Context(), h.ID); !errors.As(err, &missing) {
		t.Errorf("after its end: %v", err)
	}
}

// A receiver that fails is asked with growing pauses for a day, and then the next event follows. 410 disables, and a replay enables.
func TestRetries(t *testing.T) {
	stores, c := storestest.Open(t), &clock{at: time.Now()}
	w := open(t, stores, func(cfg *Config) { cfg.Networks, cfg.Now, cfg.After = loopback, c.now, c.after })
	w.begin()
	r := newReceiver(t)
	poison := int64(0)
	r.set(func(e Event) int {
		if poison == 0 {
			poison = e.ID
		}
		if e.ID == poison {
			return []int{500, 302, 404}[len(r.got)%3]
		}
		return 200
	})
	h := w.webhook(r, NewWebhook{Types: []string{PageNew}})
	r.TB = relaxed{t} // its clock is another one
	site := stores.NewSite(root)
	stores.AddPages(site, root, 3)
	began, pauses := c.now(), []time.Duration{}
	for tries := int64(1); ; tries++ {
		var now Webhook
		testwait.Until(t, "a try is recorded", func() bool { c.move(0); now = w.state(h.ID); return now.Tries == tries || now.Dead > 0 })
		if now.Dead > 0 {
			break
		}
		pause := now.Next.Sub(c.now())
		pauses = append(pauses, pause)
		c.move(pause + time.Millisecond)
	}
	if took := c.now().Sub(began); took < giveUp || took > giveUp+lastPause+time.Minute {
		t.Errorf("given up after %v", took)
	}
	for i, pause := range pauses {
		if full := min(firstPause<<min(i, 20), lastPause); pause < full*3/4-time.Second || pause > full+time.Second {
			t.Errorf("pause %d is %v", i, pause)
		}
	}
	t.Logf("%d tries in a day: %v", len(pauses), pauses)
	c.move(deadPause)
	testwait.Until(t, "the other events arrive", func() bool { c.move(0); return w.state(h.ID).State == "active" })
	letters, err := w.DeadLetters(t.Context(), h.ID, 0, 10)
	if err != nil || len(letters) != 1 || letters[0].Event.ID != poison || !strings.Contains(letters[0].Reason, "the receiver answers") {
		t.Errorf("letters %+v %v", letters, err)
	}
	r.set(func(Event) int { return 410 })
	if _, err := w.Replay(t.Context(), h.ID, poison); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the webhook is disabled", func() bool { return w.state(h.ID).State == "disabled" })
	r.set(nil)
	if _, err := w.Replay(t.Context(), h.ID, poison); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the dead letter is delivered", func() bool { return w.state(h.ID).Dead == 0 })
	for _, secret := range []string{"whsec_", "hidden"} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log has %s: %s", secret, w.log)
		}
	}
}

// relaxed is a test that accepts the timestamps of another clock.
type relaxed struct{ testing.TB }

// Errorf passes over the messages of a receiver.
func (r relaxed) Errorf(format string, values ...any) {
	if text := fmt.Sprintf(format, values...); !strings.Contains(text, "timestamp") {
		r.TB.Error(text)
	}
}

// Internal addresses are refused, when a webhook is created and when its name leads to one.
func TestGuard(t *testing.T) {
	stores := storestest.Open(t)
	w := open(t, stores, nil)
	w.begin()
	for target, want := range map[string]string{
		"http://127.0.0.1:80/": "AllowedNetworks", "http://[::1]/": "loopback", "https://10.0.0.1/x": "private", "http://169.254.169.254/": "link-local",
		"ftp://example.org/": "unsupported scheme", "https://me:secret@example.org/": "user", "/hook": "scheme", "http://0x7f.1/": "",
	} {
		if _, _, err := w.CreateWebhook(t.Context(), NewWebhook{URL: target}); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", target, err, want)
		}
	}
	h, _, err := w.CreateWebhook(t.Context(), NewWebhook{URL: "http://localhost:1/"})
	if err != nil {
		t.Fatal(err)
	}
	stores.AddPage(stores.NewSite(root), root, "Coast", "text")
	testwait.Until(t, "the guard refuses", func() bool { return strings.Contains(w.state(h.ID).Fault, "refused: loopback") })
}

// Events wait for a webhook that fails, up to a bound. It goes on with the oldest one that is kept, and the log says what is lost.
func TestLostEvents(t *testing.T) {
	stores, c := storestest.Open(t), &clock{at: time.Now()}
	w := open(t, stores, func(cfg *Config) { cfg.Networks, cfg.Now, cfg.After, cfg.Keep = loopback, c.now, c.after, 10 })
	w.begin()
	r := newReceiver(t)
	r.set(func(Event) int { return 503 })
	h := w.webhook(r, NewWebhook{})
	stores.AddPages(stores.NewSite(root), root, 80)
	newest := func(n int64) (before int64) {
		testwait.Until(t, "the events are there", func() bool {
			start, last, err := w.Bounds(t.Context())
			before = start
			return err == nil && last >= n
		})
		return before
	}
	if before := newest(80); before != 0 {
		t.Errorf("%d events that the webhook needs were removed", before)
	}
	other := stores.NewSite("https://other.example/")
	stores.AddPages(other, "https://other.example/", 300)
	before := newest(380)
	if before < 280 {
		t.Errorf("only %d events were removed", before)
	}
	r.set(nil)
	c.move(time.Minute)
	testwait.Until(t, "the webhook goes on", func() bool { c.move(0); return w.state(h.ID).State == "active" && w.state(h.ID).Position >= 380 })
	if !strings.Contains(w.log.String(), "events of a webhook are lost") {
		t.Errorf("log: %s", w.log)
	}
}
