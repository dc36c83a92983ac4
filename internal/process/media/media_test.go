package media

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire/result"
)

const base = "https://news.example/a/"

// data returns an image as a data: URI.
func data(format string, width, height, colors int) string {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		img.Set(i%width, i/width, color.NRGBA{uint8(i % colors * 7), uint8(i % colors), 0, 255})
	}
	var b bytes.Buffer
	if format == "jpeg" {
		_ = jpeg.Encode(&b, img, nil)
	} else {
		_ = png.Encode(&b, img)
	}
	return "data:image/" + format + ";base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

// onePixelWebP is a lossless WebP image of one pixel.
const onePixelWebP = "data:image/webp;base64,UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

func TestSplit(t *testing.T) {
	pixel := data("png", 1, 1, 1)
	for _, c := range []struct {
		name, value string
		want        []string
	}{
		{"one", "https://a.example/1.png", []string{"https://a.example/1.png"}},
		{"two", "https://a.example/1.png,http://b.example/2.png", []string{"https://a.example/1.png", "http://b.example/2.png"}},
		{"comma in a URL", "https://a.example/1,2.png", []string{"https://a.example/1,2.png"}},
		{"data URI is whole", pixel, []string{pixel}},
		{"data URI between URLs", "https://a.example/1.png," + pixel + ",https://a.example/2.png", []string{"https://a.example/1.png", pixel, "https://a.example/2.png"}},
		{"markup is whole", `<img src="1.png"> ,http://a.example/`, []string{`<img src="1.png"> ,http://a.example/`}},
		{"empty parts", ",,https://a.example/1.png, ,", []string{"https://a.example/1.png"}},
		{"blank", "  ", nil},
	} {
		if got := Split(c.value); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// docs/spec/processing.md 2.5, media, and 6.2 #4: filters and URLs.
func TestApply(t *testing.T) {
	rule := func(pattern string, action int) filter.Rule {
		return filter.Rule{Pattern: pattern, Action: action, Stage: filter.StageAll, Mode: 1, State: 1}
	}
	page := rule(`^https://news\.example/`, 1)
	page.Mode = 0
	for _, c := range []struct {
		name  string
		rules []filter.Rule
		data  []string
		want  []string
		drops int
	}{
		{"no filters: nothing is dropped", nil, []string{"https://a.example/1.png"}, []string{"https://a.example/1.png"}, 0},
		{"resolved", nil, []string{"1.png"}, []string{"https://news.example/a/1.png"}, 0},
		{"exclude match", []filter.Rule{rule(`\.gif$`, -1)}, []string{"https://a.example/1.gif,https://a.example/2.png"}, []string{"https://a.example/2.png"}, 1},
		{"several filters, each URL once", []filter.Rule{rule(`\.gif$`, -1), rule(`png$`, 1), rule(`news`, 1)}, []string{"https://news.example/1.png,https://a.example/2.gif"}, []string{"https://news.example/1.png"}, 1},
		{"include without a match", []filter.Rule{rule(`^ftp:`, 1)}, []string{"https://a.example/1.png"}, []string{"https://a.example/1.png"}, 0},
		{"filters of pages do not apply", []filter.Rule{page}, []string{"https://cdn.example/1.png"}, []string{"https://cdn.example/1.png"}, 0},
		{"not URLs", nil, []string{"javascript:alert(1)", "ftp://a.example/1.png", "http://", "data:image/svg+xml,x", "https://a.example/1.png"}, []string{"https://a.example/1.png"}, 4},
		{"nothing left", []filter.Rule{rule(`.`, -1)}, []string{"https://a.example/1.png"}, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			set, errs := filter.Compile(c.rules)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			r := result.Result{}
			r.Add(result.Tag{Name: "media", Data: c.data})
			dropped := Rules{Filters: set}.Apply(&r, Page{Base: base})
			var got []string
			if tag := r.Tag("media"); tag != nil {
				got = tag.Data
			}
			if !slices.Equal(got, c.want) || len(dropped) != c.drops {
				t.Errorf("%q, dropped %v; want %q, %d", got, dropped, c.want, c.drops)
			}
		})
	}
	if r := (&result.Result{}); (Rules{}).Apply(r, Page{}) != nil || len(r.Tags) > 0 {
		t.Error("a result without the tag was changed")
	}
}

// docs/spec/processing.md 2.5: all keys of MEDIA_LIMITS.
func TestLimits(t *testing.T) {
	const web = "https://a.example/1.png"
	broken := "data:image/png;base64,AAAA"
	for _, c := range []struct {
		name, limits, value string
		keeps               bool
	}{
		{"min_width holds", `{"img":{"min_width":20}}`, data("png", 20, 10, 1), true},
		{"min_width", `{"img":{"min_width":21}}`, data("png", 20, 10, 1), false},
		{"max_width", `{"img":{"max_width":"19"}}`, data("png", 20, 10, 1), false},
		{"min_height", `{"img":{"min_height":11}}`, data("png", 20, 10, 1), false},
		{"max_height", `{"img":{"max_height":9}}`, data("png", 20, 10, 1), false},
		{"min_ratio is height by width", `{"img":{"min_ratio":0.6}}`, data("png", 20, 10, 1), false},
		{"max_ratio", `{"img":{"max_ratio":0.4}}`, data("png", 20, 10, 1), false},
		{"ratio holds", `{"img":{"min_ratio":0.5,"max_ratio":0.5}}`, data("png", 20, 10, 1), true},
		{"min_colors", `{"img":{"min_colors":4}}`, data("png", 20, 10, 3), false},
		{"min_colors holds", `{"img":{"min_colors":3}}`, data("png", 20, 10, 3), true},
		{"format", `{"img":{"Content-Type":["jpeg"]}}`, data("png", 2, 2, 1), false},
		{"format holds", `{"img":{"Content-Type":["gif","image/jpg"]}}`, data("jpeg", 2, 2, 1), true},
		{"WebP", `{"img":{"Content-Type":["webp"],"max_width":1}}`, onePixelWebP, true},
		{"WebP, other formats wanted", `{"img":{"Content-Type":["png"]}}`, onePixelWebP, false},
		{"unreadable image", `{"img":{"min_width":1}}`, broken, false},
		{"unreadable image without limits", ``, broken, true},
		{"image of the web, unknown size", `{"img":{"min_width":100,"Content-Type":["jpeg"]}}`, web, true},
		{"image of the web, known size", `{"img":{"min_width":100}}`, "https://known.example/1.png", false},
		{"attributes of markup", `{"img":{"min_width":100}}`, `<img width="50" src="1.png">`, false},
		{"attributes of markup hold", `{"img":{"min_width":100}}`, `<img src='1.png' width=120px height="90">`, true},
		{"ratio of markup", `{"img":{"max_ratio":0.5}}`, `<img src='1.png' width=120 height="90">`, false},
		{"markup without a size", `{"img":{"min_width":100}}`, `<img src="1.png">`, true},
		{"markup with data", `{"img":{"min_width":100}}`, `<img src="` + data("png", 2, 2, 1) + `">`, false},
		{"markup without an address", `{"img":{"min_width":100}}`, `<video width="5"></video>`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			limits, err := Parse(c.limits)
			if err != nil {
				t.Fatal(err)
			}
			r := result.Result{}
			r.Add(result.Tag{Name: "media", Data: []string{c.value}})
			dropped := Rules{Limits: limits}.Apply(&r, Page{Base: base, Known: func(u string) (Size, bool) {
				return Size{Width: 64, Height: 64, Format: "png"}, strings.Contains(u, "known")
			}})
			if (r.Tag("media") != nil) != c.keeps || (len(dropped) == 0) != c.keeps {
				t.Errorf("%+v, %v", r.Tags, dropped)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	r := result.Result{}
	r.Add(result.Tag{Name: "media", Data: []string{strings.Repeat("http://a.example/,", mostURLs+5)}})
	if dropped := (Rules{}).Apply(&r, Page{}); len(dropped) != 1 || len(strings.Split(r.First("media"), ",")) != mostURLs {
		t.Errorf("many URLs: %v", dropped)
	}
	// The size of a JPEG is behind its comments.
	picture, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(data("jpeg", 2, 2, 1), "data:image/jpeg;base64,"))
	comment := append([]byte{0xFF, 0xFE, 0xFF, 0xFF}, make([]byte, 0xFFFD)...)
	commented := slices.Concat(picture[:2], bytes.Repeat(comment, maxData/len(comment)+1), picture[2:])
	l := &Limits{}
	if err := l.checkData("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(commented)); err == nil {
		t.Error("more than maxData bytes were read")
	}
	if err := l.checkData("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(slices.Concat(picture[:2], comment, picture[2:]))); err != nil {
		t.Errorf("one comment: %v", err)
	}
}

func TestUnreadable(t *testing.T) {
	for text, want := range map[string]string{
		`{"video":{}}`: `has "video"; expected "img"`, `{"img":{"min_width":-1}}`: "has min_width -1", `{"img":{"min_width":5,"max_width":4}}`: "has min_width 5 and max_width 4",
		`{"img":{"min_colors":99999999}}`: "has min_colors 99999999", `{"img":{"max_ratio":"x"}}`: "expected a number", `[]`: "not a JSON object", `{"img":7}`: "expected an object",
	} {
		if l, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) || l != nil {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzApply(f *testing.F) {
	for _, s := range []string{
		data("png", 3, 3, 9), strings.Repeat(",http", 1000), "data:;base64,%%%", "<img src=" + strings.Repeat(" src=", 500), "data:image/png;base64,iVBORw0KGgoAAAANSUhEUv////////8IAgAAAA==", "data:,base64,http",
	} {
		f.Add(s, `{"img":{"min_colors":2,"min_width":1}}`)
	}
	f.Fuzz(func(t *testing.T, value, limits string) {
		l, err := Parse(limits)
		if err != nil && l != nil {
			t.Error("limits with an error")
		}
		r := result.Result{}
		r.Add(result.Tag{Name: "media", Data: []string{value}})
		Rules{Limits: l}.Apply(&r, Page{Base: base})
	})
}
