package zpack

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// A sealed value comes back whole or as an error, whichever bit of it, of its id or of its date changes.
func TestSeal(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, value := range map[string][]byte{
		"empty": {}, "text": []byte("plain text"), "packed": Pack([]byte(strings.Repeat("some text ", 20))), "packed nothing": Pack(nil),
		"bytes": {0, 0xff, 0x5d}, "zeros": make([]byte, 12), "sealed": Seal("b", at, []byte("x")), "no whole frame": zstdMagic,
	} {
		sealed := Seal("a", at, value)
		if got, err := Unseal("a", at, sealed); err != nil || !bytes.Equal(got, value) {
			t.Fatalf("%s: %q %v, want %q", name, got, err, value)
		}
		for _, other := range []func() ([]byte, error){
			func() ([]byte, error) { return Unseal("b", at, sealed) },
			func() ([]byte, error) { return Unseal("a", at.Add(time.Second), sealed) },
			func() ([]byte, error) { return Unseal("a", time.Time{}, sealed) },
		} {
			if got, err := other(); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s under another id or date: %q %v", name, got, err)
			}
		}
		for bit := range 8 * len(sealed) {
			flipped := bytes.Clone(sealed)
			flipped[bit/8] ^= 1 << (bit % 8)
			if got, err := Unseal("a", at, flipped); !errors.Is(err, ErrDamaged) {
				t.Errorf("%s with bit %d flipped: %q %v", name, bit, got, err)
			}
		}
		for n := range sealed[4:] { // shorter ones have no magic number of zstd
			if name == "sealed" {
				break // it has whole frames inside
			}
			if got, err := Unseal("a", at, sealed[:n+4]); err == nil && n+4 != len(sealed)-sealSize {
				t.Errorf("%s cut to %d bytes: %q", name, n+4, got)
			}
		}
	}
}

// Large values have several blocks.
func TestSealLarge(t *testing.T) {
	for _, n := range []int{128<<10 - 1, 128 << 10, 128<<10 + 1, 3<<20 + 7} {
		value := bytes.Repeat([]byte("0123456789abcde"), n/15+1)[:n]
		sealed := Seal("a", time.Time{}, value)
		if got, err := Unseal("a", time.Time{}, sealed); err != nil || !bytes.Equal(got, value) || len(sealed) > n+n/1000+sealSize+16 {
			t.Errorf("%d bytes: %d stored, %d back, %v", n, len(sealed), len(got), err)
		}
	}
}

// Values of older versions have no digest, and older versions read sealed ones.
func TestUnsealOld(t *testing.T) {
	text := []byte(strings.Repeat("some text ", 20))
	for name, value := range map[string][]byte{"text": text, "packed": Pack(text), "empty": {}, "nothing": nil} {
		if got, err := Unseal("a", time.Time{}, value); err != nil || !bytes.Equal(got, value) {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	if _, err := Unseal("a", time.Time{}, Pack(text)[:20]); !errors.Is(err, ErrDamaged) {
		t.Errorf("a cut frame: %v", err)
	}
	if got, err := Unpack(Seal("a", time.Time{}, Pack(text)), MaxContent); err != nil || !bytes.Equal(got, text) {
		t.Errorf("a sealed frame without the check: %q %v", got, err)
	}
}
