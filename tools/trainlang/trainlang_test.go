package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTagOf(t *testing.T) {
	for locale, want := range map[string]string{
		"de_DE.UTF-8": "de", "pt_BR": "pt", "zh_CN": "zh", "zh-hant": "zh-Hant", "sr@latin": "sr-Latn", "sr": "sr", "no": "nb", "C": "en",
		"tlh": "", "": "", "kmr": "ku", "kk-arab": "",
	} {
		if got := tagOf(locale); got != want {
			t.Errorf("%q: %q, want %q", locale, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for block, want := range map[string]string{
		"_Open the %s file\n now":                 "Open the file now",
		"Save {count} files of $1 in %(folder)s":  "Save files of in",
		"See [[Help:Pages|the help]] for {{n}} x": "See the help for x",
		"short":                               "",
		"1234567890 1234567890 abcdefghijklm": "",
	} {
		if got := cleanBlock(block); got != want {
			t.Errorf("%q: %q, want %q", block, got, want)
		}
	}
}

func TestStripMarkup(t *testing.T) {
	got := stripMarkup("<p>One <b>two</b> &amp; three</p><pre>code</pre><script>x</script><li>four<br/>five")
	got = slices.DeleteFunc(got, func(s string) bool { return strings.TrimSpace(s) == "" })
	if want := []string{"One two & three", "four", "five"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// words of two made languages and of a third in another script.
var made = map[string]string{"de": "der die und nicht wir haben eine strasse", "en": "the and not we have this street of", "ru": "мы не это улица и дом", "uk": "ми не це вулиця і дім її"}

func makeTexts(t *testing.T) string {
	dir := t.TempDir()
	for lang, words := range made {
		list := strings.Fields(words)
		var b strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&b, "%s %s %s %s\n", list[i%len(list)], list[i*7/3%len(list)], list[i*5/2%len(list)], list[i/9%len(list)])
		}
		file := filepath.Join(dir, "made", lang+".txt")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.String()+"\f\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The same texts give the same model, and it knows them.
func TestTrain(t *testing.T) {
	texts, models := makeTexts(t), t.TempDir()
	var all [2][]byte
	for i := range all {
		file := filepath.Join(models, fmt.Sprint(i))
		if err := trainModel(texts, file); err != nil {
			t.Fatal(err)
		}
		all[i], _ = os.ReadFile(file)
	}
	if !bytes.Equal(all[0], all[1]) || len(all[0]) < 100 {
		t.Errorf("models of %d and %d bytes differ", len(all[0]), len(all[1]))
	}
	var out strings.Builder
	if err := measureModel(texts, filepath.Join(models, "0"), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "100 characters: 100.00 of") {
		t.Error(out.String())
	}
}
