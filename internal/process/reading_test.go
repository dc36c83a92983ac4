package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/process"
	"hce/dc/internal/process/reading"
)

// A worker says what a page says. A page that nothing reads, wrong fields and a page beyond its budget are errors.
func TestAnswer(t *testing.T) {
	w := &process.Workers{Budget: process.Budget{Time: time.Minute, Clock: time.Minute, Memory: 1 << 30}}
	t.Cleanup(w.Close)
	page := []byte("<title>Tides</title><nav><a href=/>Home</a></nav><article><h1>Tides</h1><p class=t>" + strings.Repeat("The moon pulls the sea twice a day. ", 20) + "</article>")
	text, err := w.Answer(t.Context(), reading.Question{URL: "https://coast.example/tides", Fields: json.RawMessage(`{"head":{"css":"h1"}}`)}, page)
	if err != nil {
		t.Fatal(err)
	}
	var a reading.Answer
	if err := json.Unmarshal(text, &a); err != nil || a.Title != "Tides" || a.Fields["head"] != "Tides" || !strings.HasPrefix(a.Markdown, "# Tides") {
		t.Errorf("%s %v", text, err)
	}
	for name, q := range map[string]reading.Question{
		"image":  {ContentType: "image/png"},
		"fields": {Fields: json.RawMessage(`{"a":{"css":"[["}}`)},
		"both":   {Fields: json.RawMessage(`{"a":{"css":"a"}}`), Schema: json.RawMessage(`{}`)},
	} {
		if text, err := w.Answer(t.Context(), q, page); !errors.Is(err, process.ErrUnreadable) || text != nil {
			t.Errorf("%s: %s %v", name, text, err)
		}
	}
	small := &process.Workers{Budget: process.Budget{Time: time.Minute, Clock: time.Minute, Memory: 1 << 20}}
	t.Cleanup(small.Close)
	large := []byte(strings.Repeat("<p>"+strings.Repeat("words and more words ", 50), 40_000))
	if _, err := small.Answer(t.Context(), reading.Question{}, large); !errors.Is(err, process.ErrBudget) {
		t.Errorf("budget: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Answer(ended, reading.Question{}, large); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err) // a page that is fast enough is answered
	}
}
