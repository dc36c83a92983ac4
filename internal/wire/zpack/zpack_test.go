package zpack

import (
	"bytes"
	"strings"
	"testing"
)

func TestPack(t *testing.T) {
	link := `{"url":"http://a.example/page/%d.html","depth":3},`
	for name, text := range map[string]string{"empty": "", "short": "{}", "links": strings.Repeat(link, 5000), "longest": strings.Repeat("x", MaxMessage)} {
		packed := Pack([]byte(text))
		got, err := Unpack(packed, MaxMessage)
		if err != nil || string(got) != text {
			t.Errorf("%s: %d bytes, %v; want %d", name, len(got), err, len(text))
		}
		if len(text) > 1000 && len(packed) > len(text)/4 {
			t.Errorf("%s: %d of %d bytes", name, len(packed), len(text))
		}
	}
	if got, err := Unpack([]byte(`{"a":1}`), MaxMessage); err != nil || string(got) != `{"a":1}` {
		t.Errorf("plain text: %s %v", got, err)
	}
}

// What cannot be unpacked is an error, and a small message cannot fill the memory.
func TestUnpackRefuses(t *testing.T) {
	packed := Pack([]byte(strings.Repeat("some text ", 1000)))
	flipped := bytes.Clone(packed)
	flipped[len(flipped)/2] ^= 0xff
	for name, data := range map[string][]byte{
		"half": packed[:len(packed)/2], "changed": flipped, "header only": packed[:4],
		"too large": Pack(bytes.Repeat([]byte("x"), MaxMessage+1)), "two that are too large": append(Pack(make([]byte, MaxMessage)), Pack(make([]byte, MaxMessage))...),
	} {
		if got, err := Unpack(data, MaxMessage); err == nil {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}
