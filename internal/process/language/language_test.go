package language

import (
	"strings"
	"testing"
	"time"

	"hce/dc/internal/process/language/langmodel"
	"hce/dc/internal/wire/result"
)

// docs/spec/processing.md 6.2 #19.
func TestDetect(t *testing.T) {
	for want, text := range pages {
		for _, size := range []int{100, 200, 1000} {
			piece := string([]rune(text)[:min(size, len([]rune(text)))])
			if got := Detect(piece); got != want {
				t.Errorf("%d characters: %q, want %q: %s", size, got, want, piece)
			}
		}
	}
	for text, want := range map[string]string{
		"Мільйон євро для її села":                                    "uk",
		"Это был новый мэр, и мы его выбрали":                         "ru",
		"Пры гэтым ён зноў быў у сваёй вёсцы, і ўсе людзі яго бачылі": "be",
	} {
		if got := Detect(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{
		"", "News", "12345 67890 12345 67890 12345 67890 12345 67890", strings.Repeat("\xff", 100), "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
		"fmt.Println(a_b) /usr/share/x libc6 --force a=b http://a.example/the/and/of", "Xq7 zzgrx vvkpt qwrtz bcdfg hjklm xzpqw kkjhg wrtpl mnbvc",
	} {
		if got := Detect(text); got != "" {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// A technical page has more commands and English terms than words of its language.
func TestMixedPage(t *testing.T) {
	for want, text := range map[string]string{
		"de": "Mit apt-get install postgresql-15 wird der Server (Database Server) installiert; die Datei /etc/postgresql/15/main/pg_hba.conf regelt den Zugriff. Danach: systemctl restart postgresql@15-main.service",
		"ru": "Команда apt-get install postgresql-15 устанавливает Database Server; файл /etc/postgresql/15/main/pg_hba.conf управляет доступом. Затем systemctl restart postgresql@15-main.service",
		"ja": "apt-get install postgresql-15 でデータベース (Database Server) をインストールします。/etc/postgresql/15/main/pg_hba.conf を編集してください。",
		"en": "The command apt-get install postgresql-15 installs the server, and /etc/postgresql/15/main/pg_hba.conf says who may connect to it. München, Malmö and Łódź have mirrors.",
	} {
		if got := Detect(text); got != want {
			t.Errorf("%q, want %q: %s", got, want, text)
		}
	}
}

func TestChoose(t *testing.T) {
	de, en, ptText, traditional := pages["de"], pages["en"], pages["pt"], pages["zh-Hant"]
	for _, c := range []struct {
		name     string
		declared []string
		text     string
		want     string
	}{
		{"nothing declared", nil, de, "de"},
		{"region", []string{"pt_br"}, ptText, "pt-BR"},
		{"German page of an English template", []string{"en-US", "", "en_US", "en"}, de, "de"},
		{"Japanese page of an English template", []string{"en"}, pages["ja"], "ja"},
		{"English page of a German template", []string{"de"}, en, "en"},
		{"the second declaration fits", []string{"en", "de-AT"}, de, "de-AT"},
		{"a list", []string{"fr, de-CH"}, de, "de-CH"},
		{"short text", []string{"fr-CA"}, "Accueil", "fr-CA"},
		{"no text", []string{"", "", "sv_SE"}, "", "sv-SE"},
		{"script", []string{"zh-TW"}, traditional, "zh-TW"},
		{"a subtag of a script", []string{"zh-hant"}, traditional, "zh-Hant"},
		{"Chinese without a script", []string{"zh"}, traditional, "zh"},
		{"simplified letters declared, traditional ones seen", []string{"zh-CN"}, traditional, "zh-Hant"},
		{"Norwegian", []string{"no"}, pages["nb"], "no"},
		{"Norwegian declared, Danish seen", []string{"no"}, pages["da"] + " " + pages["da"], "da"},
		{"close languages: the declaration decides", []string{"bs"}, "Gradska biblioteka otvara novu salu.", "bs"},
		{"old code", []string{"iw"}, pages["he"], "he"},
		{"code of three letters", []string{"deu"}, de, "de"},
		{"a language that is not in the model, an unclear text", []string{"nds"}, "De Bökeree maakt nee Stuuv open", "nds"},
		{"a language that is not in the model, a clear text", []string{"tlh"}, en, "en"},
		{"invalid tags", []string{"de;q=1", "{{lang}}", "und"}, en, "en"},
		{"nothing", []string{""}, "12", ""},
	} {
		if got := Choose(c.declared, c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The cost of a text does not grow with its size, and a text costs no allocation.
func TestBounded(t *testing.T) {
	small := strings.Repeat(pages["de"]+" ", 20)
	large := strings.Repeat(small, 2000) // 9 MB
	fastest := func(text string) time.Duration {
		best := time.Hour
		for range 50 {
			begin := time.Now()
			Detect(text)
			best = min(best, time.Since(begin))
		}
		return best
	}
	if s, l := fastest(small), fastest(large); l > 10*s {
		t.Errorf("%d bytes: %v, %d bytes: %v", len(small), s, len(large), l)
	}
	declared := []string{"de-AT", "", "en_US"}
	if n := testing.AllocsPerRun(20, func() { Detect(large) }); n > 0 {
		t.Errorf("Detect: %v allocations", n)
	}
	if n := testing.AllocsPerRun(20, func() { Choose(declared, large) }); n > 8 {
		t.Errorf("Choose: %v allocations", n)
	}
}

func BenchmarkDetect(b *testing.B) {
	for _, lang := range []string{"en", "de", "ru", "zh", "th"} {
		text := strings.Repeat(pages[lang]+" ", 40)
		b.Run(lang, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Detect(text)
			}
		})
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		if _, err := langmodel.Read(modelBytes); err != nil {
			b.Fatal(err)
		}
	}
}

func TestTag(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"EN_us, de", "en-US"}, {"zh-hant-tw", "zh-Hant-TW"}, {"uk", "uk"}, {"de;q=1", ""}, {"", ""}, {"x", ""}, {"toolong-x", ""}, {"en-", ""},
	} {
		if got := Tag(c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

// newResult has a tag for each pair of name and value.
func newResult(pairs ...string) *result.Result {
	r := &result.Result{}
	for i := 0; i < len(pairs); i += 2 {
		r.Add(result.Tag{Name: pairs[i], Data: []string{pairs[i+1]}, Extractor: "GooseExtractor"})
	}
	return r
}

// languages returns the language of each tag, and the values of the tags of languages.
func languages(r *result.Result) string {
	var all []string
	for _, t := range r.Tags {
		switch {
		case t.Extractor == result.Service:
			all = append(all, t.Name+"="+t.First())
		case t.Lang != "":
			all = append(all, t.Name+":"+t.Lang+t.LangSuffix)
		}
	}
	return strings.Join(all, " ")
}

// docs/spec/processing.md 2.5, language.
func TestApply(t *testing.T) {
	de, ru, ja := strings.Repeat(pages["de"]+" ", 4), strings.Repeat(pages["ru"]+" ", 4), strings.Repeat(pages["ja"], 4)
	for _, c := range []struct {
		name, rules string
		r           *result.Result
		want        string
	}{
		{"one tag", `{"tags":["content_encoded"]}`, newResult("title", "Mühle", "content_encoded", de), "content_encoded:de_lang content_encoded_lang=de summary_lang=de"},
		{"a title has the language of the page", `{"tags":["title"]}`, newResult("title", "Neuer Müller", "content_encoded", de), "title:de_lang title_lang=de summary_lang=de"},
		{"a title in another script", `{"tags":["title"]}`, newResult("title", "Мельница", "content_encoded", de), "summary_lang=de"},
		{"a Japanese title in Han letters", `{"tags":["title"]}`, newResult("title", "水車小屋売却", "content_encoded", ja), "title:ja_lang title_lang=ja summary_lang=ja"},
		{"all text tags", `{"tags":"*"}`, newResult("title", "Мельница", "content_encoded", ru, "link", "https://a.example/", "media", "https://a.example/i.png"),
			"title:ru_lang content_encoded:ru_lang title_lang=ru content_encoded_lang=ru summary_lang=ru"},
		{"tags that are not there", `{"tags":["author"]}`, newResult("title", "x"), "summary_lang=en"},
		{"joined text of all tags", `{"tags":["&"]}`, newResult("title", "Neu", "description", pages["de"], "content_encoded", de),
			"title:de_lang description:de_lang content_encoded:de_lang title_lang=de description_lang=de content_encoded_lang=de summary_lang=de"},
		{"nothing detected: no language on the tags", `{}`, newResult("title", "x", "content_encoded", "12 34"), "summary_lang=en"},
		{"prefix and suffix", `{"prefix":"p_","suffix":"_s","tags":["content_encoded"]}`, newResult("content_encoded", de), "content_encoded:de_s p_content_encoded_s=de summary_lang=de"},
		{"default maps: French counts as English", `{"tags":["t"]}`, newResult("t", strings.Repeat(pages["fr"]+" ", 3)), "t:en_lang t_lang=en summary_lang=en"},
		{"default maps: Ukrainian counts as Russian", `{"tags":["t"]}`, newResult("t", strings.Repeat(pages["uk"]+" ", 3)), "t:ru_lang t_lang=ru summary_lang=ru"},
		{"own maps", `{"tags":["t"],"maps":{"romance":["fr","es"]}}`, newResult("t", strings.Repeat(pages["fr"]+" ", 3)), "t:romance_lang t_lang=romance summary_lang=romance"},
		{"own maps, otherwise", `{"tags":["t"],"maps":{"xx":["*"],"de":["de"]}}`, newResult("t", ru), "t:xx_lang t_lang=xx summary_lang=xx"},
		{"own maps before otherwise", `{"tags":["t"],"maps":{"xx":["*"],"de":["de"]}}`, newResult("t", de), "t:de_lang t_lang=de summary_lang=de"},
		{"no maps", `{"tags":["t"],"maps":{}}`, newResult("t", strings.Repeat(pages["uk"]+" ", 3)), "t:uk_lang t_lang=uk summary_lang=uk"},
		{"size", `{"tags":["t"],"size":200}`, newResult("t", de+ru), "t:de_lang t_lang=de summary_lang=de"},
		{"JSON in quotes", `"{\"tags\":[\"t\"]}"`, newResult("t", de), "t:de_lang t_lang=de summary_lang=de"},
		{"off", ``, newResult("t", de), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules, err := Parse(c.rules)
			if err != nil {
				t.Fatal(err)
			}
			rules.Apply(c.r)
			if got := languages(c.r); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	for text, want := range map[string]string{
		`{"size":0}`: "has size 0; expected 1 to 65536", `{"size":"x"}`: "expected a whole number", `[]`: "expected an object", `{`: "not valid JSON",
		`{"maps":{"en":{}}}`: `maps "en"`, `{"suffix":""}`: "neither prefix nor suffix", `"{"`: "not valid JSON", `{"maps":7}`: "not a JSON object",
	} {
		if r, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) || r != nil {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"tags":["*","&","*"],"prefix":"t"}`, `{"size":1}`, `{"maps":{"":["","*"],"*":["*"]}}`, `"\"{}\""`, strings.Repeat(`{"maps":`, 500), `{"tags":null,"suffix":"\u0000"}`} {
		f.Add(s, "Мельница\xff")
	}
	f.Fuzz(func(t *testing.T, value, text string) {
		rules, err := Parse(value)
		if err != nil {
			return
		}
		r := newResult("t", text, "title", text+text)
		rules.Apply(r)
		if rules != nil && r.First(summaryTag) == "" && len(r.Tags) > 20 {
			t.Errorf("%q: %v", value, r.Tags)
		}
	})
}
