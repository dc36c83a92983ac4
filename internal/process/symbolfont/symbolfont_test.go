package symbolfont

import "testing"

func TestText(t *testing.T) {
	tests := []struct {
		font string
		code rune
		want string
	}{
		{"Symbol", 'a', "α"}, {"Symbol", 0xF061, "α"}, {"ABCDEF+SymbolMT", 0xF0A3, "≤"}, {"StandardSymL", 0xB3, "≥"}, {"Symbol,Bold", '~', "∼"}, {"Symbol", '@', "≅"}, {"Symbol", 'z', "ζ"}, {"Symbol", 0xA0, "€"}, {"Symbol", 0xB9, "≠"},
		{"Symbol", 0xCF, "∉"}, {"Symbol", 0xDF, "⇓"}, {"Symbol", 0xEF, "⎪"}, {"Symbol", 0xF2, "∫"}, {"Symbol", 0xFE, "⎭"}, {"Symbol", 0xF0, ""}, {"Symbol", 0xFF, ""}, {"Symbol", 0x80, ""}, {"Symbol", 0x03B1, ""}, {"Symbol", -1, ""},
		{"Wingdings", 0xF0FC, "✓"}, {"Wingdings-Regular", 0xFE, "☑"}, {"Wingdings", 0xE0, "→"}, {"Wingdings", 0xF06E, "•"}, {"Wingdings", 'A', ""},
		{"Helvetica", 'a', ""}, {"Segoe UI Symbol", 'a', ""}, {"", 0xF061, ""},
	}
	for _, tt := range tests {
		if got := Text(tt.font, tt.code); got != tt.want {
			t.Errorf("%s %#x: %q, want %q", tt.font, tt.code, got, tt.want)
		}
	}
}
