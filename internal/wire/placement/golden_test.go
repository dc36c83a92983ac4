package placement_test

import "testing"

// golden are owners that must never change: a node with another hash would store and request what
// belongs to other nodes, and leave what is its own. Members are node1 to node9.
var golden = map[string]string{
	"":                                  "node7",
	"http://example.org/":               "node4",
	"https://www.example.org:8443/x":    "node4",
	"http://en.wikipedia.org/wiki/Hash": "node3",
	"http://localhost/":                 "node1",
	"http://127.0.0.1:8080/":            "node4",
	"http://127.0.0.2:8080/":            "node9",
	"http://[2001:db8::1]/":             "node9",
	"https://xn--mller-kva.example/":    "node7",
	"http://日本語.example/":               "node1",
	"http://a-very-long-name.with.many.labels.of.a.host.example/": "node7",
}

func TestGolden(t *testing.T) {
	p := of(9)
	for url, want := range golden {
		if got := p.OwnerOfURL(url); got != want {
			t.Errorf("%q belongs to %s, it must be %s", url, got, want)
		}
	}
}
