package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/net/html"

	"hce/dc/internal/wire/prop"
)

// Text says how texts are taken from a page: keys of PROCESSOR_PROPERTIES
// (docs/spec/processing.md 1.5). Create it with ParseText or as Text{}. Goroutines may share it.
type Text struct {
	KeepTags  bool                       // tags stay in texts
	Markup    map[string]string          // text for a tag or /tag, if tags do not stay
	Keep      map[string]map[string]bool // attributes that are kept, by tag
	CloseVoid int                        // 0 <br>, 1 <br/>, 2 as in the page
	Delimiter string                     // between matches; "": by the type of the rule
	Inner     string                     // between the texts of a match; "": by their elements

	reduce []*regexp.Regexp // runs become one
	with   []string
}

// Values of CLOSE_VOID.
const (
	closeAlways   = 1
	closeAsInPage = 2
)

// reduced are the texts whose runs become one, without SCRAPER_TEXT_REDUCER.
var reduced = []string{"\n", "\r\n", "\t", " ", "<br>", "<p>", "</p>"}

// maxReduced bounds SCRAPER_TEXT_REDUCER.
const maxReduced = 64

// ParseText reads the keys of PROCESSOR_PROPERTIES that concern texts, and ignores all others.
// An error names the key.
func ParseText(properties string) (*Text, error) {
	t := &Text{}
	list, mask := reduced, prop.Int(65535)
	raw, err := propertyJSON(properties)
	if err != nil {
		return nil, err
	}
	if raw != nil {
		var void prop.Int
		voids := false
		keys := readers{
			"SCRAPER_TEXT_MARKUP":               t.readMarkup,
			"SCRAPER_KEEP_ATTRIBUTES":           innerReader(t.readKept),
			"CLOSE_VOID":                        func(raw json.RawMessage) error { voids = true; return void.UnmarshalJSON(raw) },
			"SCRAPER_TAG_ITEMS_DELIMITER":       textReader(&t.Delimiter),
			"SCRAPER_TAG_ITEMS_INNER_DELIMITER": textReader(&t.Inner),
			"SCRAPER_TEXT_REDUCER":              innerReader(func(raw json.RawMessage) error { return readTexts(&list, raw) }),
			"SCRAPER_TEXT_REDUCER_MASK":         func(raw json.RawMessage) error { return mask.UnmarshalJSON(raw) },
		}
		if err := keys.readObject(raw, func(string) {}); err != nil {
			return nil, err
		}
		if t.CloseVoid = int(void); void < 0 || void > closeAsInPage {
			return nil, fmt.Errorf(`"CLOSE_VOID" has %d; expected 0, 1 or 2`, void)
		}
		t.KeepTags = t.KeepTags || t.Markup == nil && (t.Keep != nil || voids)
	}
	t.setReduced(list, int64(mask))
	return t, nil
}

// innerReader reads a value that may be inside of a JSON text.
func innerReader(read func(json.RawMessage) error) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if raw[0] == '"' {
			var text string
			if err := json.Unmarshal(raw, &text); err != nil {
				return err
			}
			if text = strings.TrimSpace(text); text == "" {
				return nil
			}
			raw = json.RawMessage(text)
		}
		return read(raw)
	}
}

// keepTags is the value of SCRAPER_TEXT_MARKUP with which tags stay in texts.
const keepTags = `"tags"`

func (t *Text) readMarkup(raw json.RawMessage) error {
	if t.KeepTags = string(raw) == keepTags; t.KeepTags {
		return nil
	}
	return innerReader(t.readReplaced)(raw)
}

func (t *Text) readReplaced(raw json.RawMessage) error {
	var members prop.Members
	if err := prop.Decode(string(raw), &members); err != nil {
		return err
	}
	t.Markup = make(map[string]string, len(members))
	for _, m := range members {
		text, err := optionalText(m.Value)
		if err != nil {
			return fmt.Errorf("%w at %.80q", err, m.Name)
		}
		t.Markup[strings.ToLower(m.Name)] = text
	}
	return nil
}

func (t *Text) readKept(raw json.RawMessage) error {
	var members prop.Members
	if err := prop.Decode(string(raw), &members); err != nil {
		return err
	}
	t.Keep = map[string]map[string]bool{}
	for _, m := range members {
		var names prop.Texts
		if err := prop.Decode(string(m.Value), &names); err != nil {
			return fmt.Errorf("%w at %.80q", err, m.Name)
		}
		kept := map[string]bool{}
		for _, name := range names {
			kept[strings.ToLower(name)] = true
		}
		t.Keep[strings.ToLower(m.Name)] = kept
	}
	return nil
}

func readTexts(to *[]string, raw json.RawMessage) error {
	var list prop.Texts
	if err := prop.Decode(string(raw), &list); err != nil {
		return err
	}
	if len(list) > maxReduced {
		return fmt.Errorf("has %d texts; the limit is %d", len(list), maxReduced)
	}
	*to = list
	return nil
}

func (t *Text) setReduced(list []string, mask int64) {
	for i, text := range list {
		if text == "" || i < 63 && mask>>i&1 == 0 {
			continue
		}
		t.reduce = append(t.reduce, regexp.MustCompile(`(?:`+regexp.QuoteMeta(text)+`){2,}`))
		t.with = append(t.with, text)
	}
}

// bareCR is a carriage return that ends no line alone.
var bareCR = regexp.MustCompile(`\r([^\n]|$)`)

// Reduce shortens the value of content_encoded: runs of a text of SCRAPER_TEXT_REDUCER become
// one, and a carriage return without a line feed becomes a space.
func (t *Text) Reduce(value string) string {
	for i, re := range t.reduce {
		if strings.Contains(value, t.with[i]) {
			value = re.ReplaceAllLiteralString(value, t.with[i])
		}
	}
	if strings.Contains(value, "\r") {
		value = bareCR.ReplaceAllString(value, " $1")
	}
	return value
}

// closedMark is the attribute of void elements that end with a slash in the page.
const closedMark = "hce-closed"

// Prepare returns the text of a page as it must be parsed for CLOSE_VOID 2: the tree does not
// say how void elements end.
func (t *Text) Prepare(page []byte) []byte {
	if t.CloseVoid != closeAsInPage || !bytes.Contains(page, []byte("/>")) {
		return page
	}
	var b bytes.Buffer
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		kind := z.Next()
		raw := z.Raw()
		if kind == html.ErrorToken {
			b.Write(raw)
			return b.Bytes()
		}
		name, _ := z.TagName()
		if body, closed := bytes.CutSuffix(raw, []byte("/>")); closed && kind == html.SelfClosingTagToken && void[string(name)] {
			b.Write(body)
			b.WriteString(" " + closedMark + "/>")
			continue
		}
		b.Write(raw)
	}
}
