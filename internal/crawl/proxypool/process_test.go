package proxypool

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"hce/dc/internal/crawl/statefile/killtest"
)

const childSpec = `{"file_path":"x.json","proxies":{"a:1":{},"b:1":{}}}`

func TestMain(m *testing.M) { killtest.Main(m, useForEver) }

// useForEver picks proxies of an index file below base, each with a fault, and reports them.
func useForEver(base string) error {
	s, err := Parse(childSpec)
	if err != nil {
		return err
	}
	p, err := Open(s, "s", base, nil, Options{})
	if err != nil {
		return err
	}
	for {
		proxy, err := p.Pick(context.Background(), "http://x/", nil)
		if err != nil {
			return err
		}
		if _, err := p.Fault(context.Background(), proxy); err != nil {
			return err
		}
		os.Stdout.WriteString("counted\n")
	}
}

// Every use that a killed process has reported is in the index file, and the uses stay
// spread over the proxies.
func TestKilledProcesses(t *testing.T) {
	base := t.TempDir()
	reported := 0
	processes := killtest.Run(t, 3, func(int) string { return base }, func(_ int, reports []string) { reported += len(reports) })
	path := filepath.Join(base, "x.json")
	a, b := read(t, path, "a:1"), read(t, path, "b:1")
	freq := int(a["freq"].(float64) + b["freq"].(float64))
	faults := int(a["faults"].(float64) + b["faults"].(float64))
	if most := reported + processes; freq < reported || freq > most || faults < reported || faults > most {
		t.Errorf("reported %d, uses %d, faults %d", reported, freq, faults)
	}
	if d := a["freq"].(float64) - b["freq"].(float64); d < -1 || d > 1 {
		t.Errorf("uses %v and %v", a["freq"], b["freq"])
	}
}
