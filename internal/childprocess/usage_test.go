package childprocess

import (
	"os"
	"testing"
)

func TestMeterOfThisProcess(t *testing.T) {
	m, err := NewMeter(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if u, err := m.Read(); err != nil || u.RSS < 1<<20 {
		t.Errorf("%+v, %v", u, err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("1234 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) { parseStat([]byte(s)) })
}
