package language

import (
	"strings"
	"testing"

	"hce/dc/internal/wire/result"
)

// One sentence of news in each language, long enough to be detected.
var sentences = map[string]string{
	"en": "The old mill at the river has a new owner, and he wants to bake bread for the whole village again.",
	"de": "Die alte Mühle am Fluss hat einen neuen Besitzer, der wieder Brot für das ganze Dorf backen will.",
	"fr": "Le vieux moulin au bord de la rivière a un nouveau propriétaire qui veut de nouveau faire du pain pour tout le village.",
	"es": "El viejo molino junto al río tiene un nuevo dueño que quiere volver a hacer pan para todo el pueblo.",
	"it": "Il vecchio mulino sul fiume ha un nuovo proprietario che vuole di nuovo fare il pane per tutto il paese.",
	"pl": "Stary młyn nad rzeką ma nowego właściciela, który znowu chce piec chleb dla całej wsi i okolicy.",
	"ru": "У старой мельницы на реке появился новый владелец, который снова хочет печь хлеб для всей деревни.",
	"uk": "Старий млин над річкою має нового власника, який знову хоче пекти хліб для всього села та околиці.",
	"ja": "川のほとりの古い水車小屋に新しい持ち主ができ、村のためにもう一度パンを焼くつもりだという。",
	"zh": "河边的老磨坊有了新主人，他想再次为整个村庄烤面包，并且欢迎孩子们在每个星期五免费来参观。",
	"ko": "강가의 오래된 방앗간에 새 주인이 생겼으며 그는 다시 온 마을을 위해 빵을 굽고 싶어 한다고 한다.",
}

// docs/spec/processing.md 6.2 #19.
func TestDetect(t *testing.T) {
	for want, text := range sentences {
		if got := Detect(strings.Repeat(text+" ", 3)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
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
	for _, text := range []string{"", "News", "12345 67890 12345 67890 12345 67890 12345 67890", strings.Repeat("\xff", 100)} {
		if got := Detect(text); got != "" {
			t.Errorf("%q: %q", text, got)
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
	de, ru, ja := strings.Repeat(sentences["de"]+" ", 4), strings.Repeat(sentences["ru"]+" ", 4), strings.Repeat(sentences["ja"], 4)
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
		{"joined text of all tags", `{"tags":["&"]}`, newResult("title", "Neu", "description", sentences["de"], "content_encoded", de),
			"title:de_lang description:de_lang content_encoded:de_lang title_lang=de description_lang=de content_encoded_lang=de summary_lang=de"},
		{"nothing detected: no language on the tags", `{}`, newResult("title", "x", "content_encoded", "12 34"), "summary_lang=en"},
		{"prefix and suffix", `{"prefix":"p_","suffix":"_s","tags":["content_encoded"]}`, newResult("content_encoded", de), "content_encoded:de_s p_content_encoded_s=de summary_lang=de"},
		{"default maps: French counts as English", `{"tags":["t"]}`, newResult("t", strings.Repeat(sentences["fr"]+" ", 3)), "t:en_lang t_lang=en summary_lang=en"},
		{"default maps: Ukrainian counts as Russian", `{"tags":["t"]}`, newResult("t", strings.Repeat(sentences["uk"]+" ", 3)), "t:ru_lang t_lang=ru summary_lang=ru"},
		{"own maps", `{"tags":["t"],"maps":{"romance":["fr","es"]}}`, newResult("t", strings.Repeat(sentences["fr"]+" ", 3)), "t:romance_lang t_lang=romance summary_lang=romance"},
		{"own maps, otherwise", `{"tags":["t"],"maps":{"xx":["*"],"de":["de"]}}`, newResult("t", ru), "t:xx_lang t_lang=xx summary_lang=xx"},
		{"own maps before otherwise", `{"tags":["t"],"maps":{"xx":["*"],"de":["de"]}}`, newResult("t", de), "t:de_lang t_lang=de summary_lang=de"},
		{"no maps", `{"tags":["t"],"maps":{}}`, newResult("t", strings.Repeat(sentences["uk"]+" ", 3)), "t:uk_lang t_lang=uk summary_lang=uk"},
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
