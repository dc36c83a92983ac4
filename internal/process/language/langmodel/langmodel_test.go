package langmodel

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func wordsOf(text string) (words []string) {
	w := Words{Text: text}
	for w.Next() {
		words = append(words, string(w.Letters()))
	}
	return words
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"case", "Über ÉCOLE Жук Ðđ ẤN", "über|école|жук|ðđ|ấn"},
		{"punctuation", "(one), \"two\"; three! -- four…", "one|two|three|four"},
		{"code", "use apt-get install libc6 --force user_name std::map a=b f(x) $HOME now", "use|apt|get|install|now"},
		{"addresses", "see http://a.example/x?y, www.a.example or me@a.example and /etc/fstab today", "see|or|and|today"},
		{"files", "open notes.txt or end. Then go", "open|or|end|then|go"},
		{"emphasis", "a **bold** and _quiet_ word", "a|bold|and|quiet|word"},
		{"apostrophes", "l’été d'un o‘zbek 'quoted'", "l'été|d'un|o'zbek|quoted"},
		{"soft hyphen", "Donau\u00addampf", "donaudampf"},
		{"joiners", "می\u200cکند", "میکند"},
		{"code in Han text", "使用/etc/fstab文件", "使用|文件"},
		{"scripts", "Linuxの使い方", "linux|の使い方"},
		{"digits alone", "12 34 and 5", "and"},
		{"long word", strings.Repeat("ab", 40), strings.Repeat("ab", longestWord/2)},
		{"invalid", "a\xff\xfeb c", "a|b|c"},
		{"empty", "", ""},
	} {
		if got := strings.Join(wordsOf(c.text), "|"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A sample is whole characters, and bounded.
func TestSample(t *testing.T) {
	for _, c := range []struct{ name, unit string }{
		{"words", "über die Brücke "}, {"no blanks", "図書館"}, {"two bytes", "ж"}, {"four bytes", "𠀀"}, {"one word", "x"},
	} {
		for n := range 40 {
			text := strings.Repeat(c.unit, n*300/len(c.unit)) + c.unit
			parts := Sample(text)
			size := 0
			for _, part := range parts {
				size += len(part)
				if !utf8.ValidString(part) || !strings.Contains(text, part) {
					t.Errorf("%s, %d bytes: part %q", c.name, len(text), part)
				}
			}
			if size > sampleParts*partSize || size < min(len(text), sampleParts*(partSize-2*slack)-len(c.unit)) {
				t.Errorf("%s: %d of %d bytes", c.name, size, len(text))
			}
		}
	}
}

// small is a model of two languages that the letters a and b tell apart.
func small() []byte {
	of := func(word string) uint32 { return AppendFeatures(nil, []rune(word), Latin)[0] }
	features := []Feature{{of("a"), []Weight{{0, 100}, {1, -20}}}, {of("b"), []Weight{{1, 90}}}}
	slices.SortFunc(features, func(a, b Feature) int { return int(int64(a.Hash) - int64(b.Hash)) })
	data := AppendGroup([]byte{2}, Latin, []Language{{"aa", 0}, {"bb", 0.5}}, 0.01, features)
	return AppendGroup(data, Greek, []Language{{Tag: "el"}}, 0, nil)
}

func TestModel(t *testing.T) {
	m, err := Read(small())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"a a a b": "aa", "b b a": "bb", "α β a": "el"} {
		r := m.Score(text)
		best, second := r.Best()
		if r.Languages[best] != want || second >= 0 && r.Margin(best, second) <= 0 {
			t.Errorf("%q: %v", text, r)
		}
	}
	r := m.Score("a")
	if before := r.Margin(1, 0); before >= 0 {
		t.Errorf("margin %v", before)
	} else if r.Add(1, 5); r.Margin(1, 0)-before < 4.9 || r.Margin(1, 0)-before > 5.1 {
		t.Errorf("margin %v, before %v", r.Margin(1, 0), before)
	}
	if r := m.Score("жжж"); len(r.Languages) != 0 {
		t.Errorf("a script without languages: %v", r)
	}
}

func TestDamagedModel(t *testing.T) {
	whole := small()
	for n := range whole {
		if _, err := Read(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes: no error", n, len(whole))
		}
	}
	if _, err := Read(append(whole, 0)); err == nil {
		t.Error("one byte more: no error")
	}
}

func FuzzScore(f *testing.F) {
	m, err := Read(small())
	if err != nil {
		f.Fatal(err)
	}
	f.Add("a b\xff 使用/etc ж’ж", small())
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		m.Score(text)
		if other, err := Read(data); err == nil {
			other.Score(text)
		}
	})
}
