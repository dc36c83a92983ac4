package placement_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/wire/placement"
)

func of(n int) placement.Placement {
	p := placement.Placement{Epoch: 1, Self: "node1"}
	for i := range n {
		p.Members = append(p.Members, fmt.Sprintf("node%d", i+1))
	}
	return p
}

func hosts(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("www.site-%d.example", i))
	}
	return list
}

// Each member owns its share. With h hosts for each member the share deviates by the square root
// of h; five times as much is no accident.
func TestEvenSpread(t *testing.T) {
	const each = 1000
	for _, n := range []int{1, 2, 3, 7, 20, 50} {
		p, count := of(n), map[string]int{}
		for _, host := range hosts(each * n) {
			count[p.Owner(host)]++
		}
		if len(count) != n {
			t.Errorf("%d of %d members own hosts", len(count), n)
		}
		for name, got := range count {
			if math.Abs(float64(got-each)) > 5*math.Sqrt(each) {
				t.Errorf("%s of %d members owns %d hosts, about %d are its share", name, n, got, each)
			}
		}
	}
}

// A member that joins takes about 1/n of the hosts, and nothing else moves. Reversed, a member
// that leaves gives away only its own hosts.
func TestMinimalMovement(t *testing.T) {
	list := hosts(20000)
	for _, n := range []int{1, 2, 3, 9, 20, 49} {
		before, after := of(n), of(n+1)
		joined, moved := after.Members[n], 0
		for _, host := range list {
			switch now := after.Owner(host); {
			case now == joined:
				moved++
			case now != before.Owner(host):
				t.Fatalf("%s moves from %s to %s when %s joins", host, before.Owner(host), now, joined)
			}
		}
		share := float64(len(list)) / float64(n+1)
		if math.Abs(float64(moved)-share) > 5*math.Sqrt(share) {
			t.Errorf("%d hosts move to member %d, about %.0f are its share", moved, n+1, share)
		}
	}
}

func TestLeavingMember(t *testing.T) {
	before := of(9)
	for _, gone := range before.Members {
		after := before
		after.Members = slices.DeleteFunc(slices.Clone(before.Members), func(name string) bool { return name == gone })
		for _, host := range hosts(3000) {
			if was := before.Owner(host); was != gone && after.Owner(host) != was {
				t.Fatalf("%s moves from %s when %s leaves", host, was, gone)
			}
		}
	}
}

func TestOrderOfMembers(t *testing.T) {
	p, reversed := of(12), of(12)
	slices.Reverse(reversed.Members)
	for _, host := range hosts(1000) {
		if p.Owner(host) != reversed.Owner(host) {
			t.Fatalf("%s: %s and %s", host, p.Owner(host), reversed.Owner(host))
		}
	}
}

// All spellings of which the crawler makes one gate have one form.
func TestHost(t *testing.T) {
	for url, want := range map[string]string{
		"http://example.org/":                       "example.org",
		"https://user:secret@Example.ORG.:8443/a@b": "example.org",
		"http://example.org:80":                     "example.org",
		"http://example.org:?q":                     "example.org",
		`http://example.org\path`:                   "example.org",
		"http://example.org#top":                    "example.org",
		"http://example.org../":                     "example.org",
		"http://ex%61mple.org/":                     "example.org",
		"http://müller.example/":                    "xn--mller-kva.example",
		"http://MÜLLER.example./":                   "xn--mller-kva.example",
		"http://xn--mller-kva.example/":             "xn--mller-kva.example",
		"http://faß.example/":                       "xn--fa-hia.example",
		"http://192.0.2.1:8080/":                    "192.0.2.1",
		"http://[2001:DB8:0::1]:8080/":              "2001:db8::1",
		"http://[2001:db8::1]/":                     "2001:db8::1",
		"http://[::1%25eth0]/":                      "::1",
		"http://[nonsense]:80/":                     "[nonsense]",
		"http:///path":                              "",
		"mailto:someone@example.org":                "",
		"":                                          "",
	} {
		if got := placement.Host(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

// A gate is named as in a URL, perhaps with its port.
func TestOwnerOfGates(t *testing.T) {
	p := of(50)
	for gate, url := range map[string]string{
		"a.example":        "https://a.example/x",
		"a.example:8080":   "http://a.example/x",
		"A.Example.":       "http://a.example/x",
		"[2001:db8::1]:81": "http://[2001:db8:0:0::1]/",
		"[2001:db8::1]":    "http://[2001:db8:0:0::1]/",
		"2001:db8::1":      "http://[2001:db8:0:0::1]/",
		"192.0.2.1:81":     "http://192.0.2.1/",
	} {
		if got, want := p.Owner(gate), p.OwnerOfURL(url); got != want {
			t.Errorf("gate %s belongs to %s, %s to %s", gate, got, url, want)
		}
	}
}

func TestMine(t *testing.T) {
	if !(placement.Placement{}).Mine("http://a.example/") {
		t.Error("without a cluster a URL belongs to another node")
	}
	p, mine := of(3), 0
	for _, name := range p.Members {
		p.Self = name
		if p.Mine("http://a.example/") {
			mine++
		}
	}
	p.Self = "removed"
	if mine != 1 || p.Mine("http://a.example/") {
		t.Errorf("%d members own a URL; a node that is no member owns it: %v", mine, p.Mine("http://a.example/"))
	}
}

func TestParse(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"epoch":3,"self":"a","members":["b","a"]}`: true,
		`{"epoch":3,"self":"c","members":["b","a"]}`: true,
		`{"epoch":3,"self":"a","members":[]}`:        false,
		`{"epoch":3,"self":"","members":["a"]}`:      false,
		`{"epoch":3,"members":["a"]}`:                false,
		`{"self":"a","members":["a","a"]}`:           false,
		`{"self":"a","members":["a",""]}`:            false,
		`{}`:                                         false,
		`null`:                                       false,
		`{"epoch":3,"self":"a","mem`:                 false,
		``:                                           false,
	} {
		p, err := placement.Parse([]byte(text))
		if (err == nil) != ok || err != nil && !errors.Is(err, placement.ErrInvalid) || p.Active() != ok {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
	}
}

func FuzzHost(f *testing.F) {
	for _, text := range []string{"http://a.example:80/", "http://[::1]:80/", "http://u@müller.example./", "a:b:c", "]:"} {
		f.Add(text)
	}
	p := of(5)
	f.Fuzz(func(t *testing.T, text string) {
		if host := placement.Host(text); placement.Host("http://"+host+"/") != host && !strings.ContainsAny(host, `/\?#@:%`) {
			t.Errorf("the form %q of %q has another form", host, text)
		}
		if !slices.Contains(p.Members, p.Owner(text)) {
			t.Errorf("%q has no owner", text)
		}
	})
}

func TestNoAllocation(t *testing.T) {
	p := of(50)
	if n := testing.AllocsPerRun(100, func() { p.Mine("https://www.example.org/some/page?q=1") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMine(b *testing.B) {
	for _, n := range []int{1, 3, 50} {
		p := of(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Mine("https://www.example.org/some/page?q=1")
			}
		})
	}
}
