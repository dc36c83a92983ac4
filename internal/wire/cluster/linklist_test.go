package cluster

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/urlkey"
)

// likeness returns links of a page, with every field of some of them changed at random.
func likeness(r *rand.Rand, n int) (list LinkList) {
	chain := int64(7)
	for i := range n {
		u := wire.NewURL("s", fmt.Sprintf("http://h%d.example/a?b=%d&c=\"ü\"", r.IntN(3), i))
		u.ParentMd5, u.CDate, u.UDate, u.Depth = wire.Md5("p"), "2026-01-02 03:04:05", "2026-01-02 03:04:05", 3
		if r.IntN(3) == 0 {
			v := reflect.ValueOf(&u).Elem()
			switch f := v.Field(r.IntN(v.NumField())); f.Kind() {
			case reflect.String:
				f.SetString([]string{"", "x", "é<&>\\\"\n", wire.Md5("y")}[r.IntN(4)])
			case reflect.Int64:
				f.SetInt(r.Int64() - r.Int64())
			case reflect.Uint64:
				f.SetUint(r.Uint64())
			case reflect.Float64:
				f.SetFloat(r.NormFloat64())
			case reflect.Pointer:
				f.Set(reflect.ValueOf(&chain))
			default:
				u.Attributes = []wire.Attribute{{Name: "n", Value: "v"}}
				u.URLPut = json.RawMessage(`{"a":[1]}`)
			}
			u.URLMd5 = []string{urlkey.Of(u.URL), wire.Md5("other")}[r.IntN(2)]
		}
		list = append(list, LinkOut(u))
	}
	return list
}

// A list is read as it was written, in both forms, also in another JSON text.
func TestLinkList(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		list := likeness(r, r.IntN(20))
		for _, form := range []any{LinkBundle{ID: 1, Links: list}, map[string]any{"id": 1, "links": append([]LinkOut{}, list...)}} {
			text, err := json.Marshal(form)
			if err != nil {
				t.Fatal(err)
			}
			var b LinkBundle
			if err := json.Unmarshal(text, &b); err != nil {
				t.Fatalf("seed %d: %v in %s", seed, err, text)
			}
			if len(b.Links) != len(list) {
				t.Fatalf("seed %d: %d links of %d", seed, len(b.Links), len(list))
			}
			for i := range list {
				if !reflect.DeepEqual(b.Links[i], list[i]) {
					t.Fatalf("seed %d: link %d is\n%+v, want\n%+v in %s", seed, i, b.Links[i], list[i], text)
				}
			}
		}
	}
}

// A further link of a page takes its URL only.
func TestLinkListIsShort(t *testing.T) {
	a := wire.NewURL("s", "http://h/a")
	a.ParentMd5, a.CDate = wire.Md5("p"), "2026-01-02 03:04:05"
	b := a
	b.URL, b.URLMd5 = "http://h/b", urlkey.Of("http://h/b")
	text, err := json.Marshal(LinkList{LinkOut(a), LinkOut(b)})
	if err != nil || !strings.HasSuffix(string(text), `,{"url":"http://h/b"}]}`) {
		t.Errorf("%s, %v", text, err)
	}
}

func FuzzLinkList(f *testing.F) {
	f.Add([]byte(`{"same":[{"url":"http://h/","status":1},{"url":"http://h/b","attributes":[{"name":"a"}]},{}]}`))
	f.Add([]byte(`[{"url":"http://h/"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var list, again LinkList
		if json.Unmarshal(data, &list) != nil {
			return
		}
		text, err := json.Marshal(list)
		if err != nil {
			return // raw parts of data that are no JSON
		}
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if !slices.EqualFunc(list, again, func(a, b LinkOut) bool { return a.URL == b.URL && a.URLMd5 == b.URLMd5 && a.Status == b.Status }) {
			t.Fatalf("%+v becomes %+v", list, again)
		}
	})
}

func BenchmarkLinkList(b *testing.B) {
	var list LinkList
	for i := range 100 {
		u := wire.NewURL("s", fmt.Sprintf("http://host.example/a/%d", i))
		u.ParentMd5, u.CDate, u.Freq = wire.Md5(fmt.Sprint(i/15)), "2026-01-02 03:04:05", 1
		list = append(list, LinkOut(u))
	}
	for name, form := range map[string]any{"same": list, "array": []LinkOut(list)} {
		text, _ := json.Marshal(form)
		b.Run("write "+name, func(b *testing.B) {
			for b.Loop() {
				_, _ = json.Marshal(form)
			}
			b.ReportMetric(float64(len(text))/100, "bytes/link")
		})
		b.Run("read "+name, func(b *testing.B) {
			for b.Loop() {
				var l LinkList
				_ = json.Unmarshal(text, &l)
			}
		})
	}
}
