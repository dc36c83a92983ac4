package curvekeys

import "encoding/binary"

// alphabet has the 85 digits of Z85 in their order (ZeroMQ RFC 32).
const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

const (
	keySize  = 32 // bytes
	textSize = 40 // characters
)

// digits maps characters to their values, -1 for all others.
var digits = func() (d [256]int8) {
	for i := range d {
		d[i] = -1
	}
	for i, c := range []byte(alphabet) {
		d[c] = int8(i)
	}
	return d
}()

// encodeKey returns the text of a key of keySize bytes.
func encodeKey(key []byte) string {
	text := make([]byte, 0, textSize)
	for ; len(key) >= 4; key = key[4:] {
		n := binary.BigEndian.Uint32(key)
		var five [5]byte
		for i := len(five) - 1; i >= 0; i-- {
			five[i] = alphabet[n%85]
			n /= 85
		}
		text = append(text, five[:]...)
	}
	return string(text)
}

// decodeKey parses the text of a key. Each key has only one text, so texts can be compared.
func decodeKey(text string) (key []byte, ok bool) {
	if len(text) != textSize {
		return nil, false
	}
	key = make([]byte, 0, keySize)
	for ; len(text) > 0; text = text[5:] {
		var n uint64
		for _, c := range []byte(text[:5]) {
			if digits[c] < 0 {
				return nil, false
			}
			n = n*85 + uint64(digits[c])
		}
		if n > 1<<32-1 {
			return nil, false
		}
		key = binary.BigEndian.AppendUint32(key, uint32(n))
	}
	return key, true
}

// Valid reports whether text is a key.
func Valid(text string) bool {
	_, ok := decodeKey(text)
	return ok
}
