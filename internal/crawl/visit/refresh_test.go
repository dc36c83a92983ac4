package visit

import (
	"strings"
	"testing"
)

func TestHeadContains(t *testing.T) {
	long := strings.Repeat("f", headBytes-7)
	for text, want := range map[string]bool{
		"": false, "refres": false, "refresh": true, "ReFrEsH": true, "a refresh b": true, "reffresh": false,
		"rerefresh": true, "f f F": false, "reFReSHrefresh": true, long + "refresh": true, long + " refresh": false,
	} {
		if got := mentionsRefresh([]byte(text)); got != want {
			t.Errorf("%.30q of %d bytes: %t", text, len(text), got)
		}
	}
}
