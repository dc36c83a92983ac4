package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
)

// damagedStore has a damaged raw content under each of some keys.
type damagedStore struct {
	service.Service
	keys []string
}

func (s damagedStore) Ask(ctx context.Context, op wire.Op, request, answer any) error {
	if op != wire.URLContent {
		return s.Service.Ask(ctx, op, request, answer)
	}
	var list []map[string]any
	if err := s.Service.Ask(ctx, op, request, &list); err != nil {
		return err
	}
	for _, one := range list {
		if slices.Contains(s.keys, fmt.Sprint(one["urlMd5"])) {
			one["errorMessage"] = wire.DamagedRaw + ": segment 1 at 9"
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// Damaged pages are named and left out; all others are written.
func TestDamagedPages(t *testing.T) {
	const all = 23
	url := func(i int) string { return fmt.Sprintf("%sdocs/p%d?a=1&b=2", root, i) }
	for _, c := range []struct {
		name string
		bad  []int
	}{{"one", []int{7}}, {"two together", []int{7, 8}}, {"many", []int{0, 1, 2, 3, 10, 22}}, {"none", nil}} {
		t.Run(c.name, func(t *testing.T) {
			j, stores := job(t, "jsonl", all)
			var keys, told, want []string
			for _, i := range c.bad {
				keys, want = append(keys, wire.Md5(url(i))), append(want, url(i))
			}
			j.Reader.Service = damagedStore{stores, keys}
			j.Reader.Damaged = func(row *wire.URL, err error) { told = append(told, row.URL) }
			var out bytes.Buffer
			j.Stdout = &out
			n, err := Run(t.Context(), j, nil)
			var damaged *DamagedError
			if got := errors.As(err, &damaged); got != (len(c.bad) > 0) || got && damaged.Pages != int64(len(c.bad)) || !got && err != nil {
				t.Errorf("%v", err)
			}
			slices.Sort(told)
			slices.Sort(want)
			if lines := bytes.Count(out.Bytes(), []byte("\n")); n != int64(all-len(c.bad)) || lines != all-len(c.bad) || !slices.Equal(told, want) {
				t.Errorf("%d pages, %d lines, told %q", n, lines, told)
			}
		})
	}
	j, stores := job(t, "jsonl", 3)
	j.Reader.Service = failingStore{stores}
	if _, err := Run(t.Context(), j, nil); err == nil || errors.As(err, new(*DamagedError)) {
		t.Errorf("a service that fails: %v", err)
	}
}

// failingStore answers no request for contents.
type failingStore struct{ service.Service }

func (s failingStore) Ask(ctx context.Context, op wire.Op, request, answer any) error {
	if op == wire.URLContent {
		return errors.New("URL_CONTENT: the disk is full")
	}
	return s.Service.Ask(ctx, op, request, answer)
}

// A damaged page counts once, also if its links and its content are asked for together.
func TestDamageWithReferrers(t *testing.T) {
	for fields, pages := range map[string]int{"url,referrers": 5, "url,referrers,html": 4} {
		j, stores := job(t, "jsonl", 5)
		j.Settings.Fields = strings.Split(fields, ",")
		j.Reader.Service = damagedStore{stores, []string{wire.Md5(root + "docs/p2?a=1&b=2")}}
		told := 0
		j.Reader.Damaged = func(*wire.URL, error) { told++ }
		j.Stdout = &bytes.Buffer{}
		n, err := Run(t.Context(), j, nil)
		var damaged *DamagedError
		if !errors.As(err, &damaged) || damaged.Pages != 1 || told != 1 || n != int64(pages) {
			t.Errorf("%s: %v, told %d, %d pages", fields, err, told, n)
		}
	}
}
