package urlschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"hce/dc/internal/wire/prop"
)

// Types of a schema.
const (
	TypeOff         = iota
	TypePredefined  // values of a list, the least used first
	TypeIncremental // whole numbers, from where the last batch stopped
	TypeRandomInt
	TypeRandomText
)

// What of the URLs made joins the batch under way.
const (
	BatchNone = iota
	BatchAll
	BatchFirst
)

const (
	// MaxBody is the longest property or external source, in bytes.
	MaxBody = 8 << 20

	// MaxURLs is how many URLs one call of Generate makes at most.
	MaxURLs = 100_000

	maxValues     = 100_000 // of all lists together
	maxValue      = 2 << 10 // bytes of one value
	maxParameters = 100
	maxSources    = 100
	maxNumber     = 1 << 53
	maxRandom     = 1024 // characters of a random text
)

// Schema is a URLS_SCHEMA. Only Load changes it.
type Schema struct {
	Type        int // TypeOff and its like
	BatchInsert int // BatchNone and its like

	list       bool // several URLs, not one
	most       int  // 0: not given
	sources    []string
	file       string
	plain      bool // values stand in one text
	delimiter  string
	encode     bool
	parameters []parameter
}

// parameter is what one macro stands for.
type parameter struct {
	name   string
	values []string // TypePredefined
	numbers
	hex, upper bool // TypeRandomText
}

// numbers are the bounds of a range, or of the length of a random text.
type numbers struct{ min, max, step int64 }

// document is the JSON of the property.
type document struct {
	Type       prop.Int     `json:"type"`
	Parameters prop.Members `json:"parameters"`
	Mode       prop.Int     `json:"mode"`
	Most       *prop.Int    `json:"max_items"`
	URLs       prop.Texts   `json:"urls"`
	File       *string      `json:"file_path"`
	Format     string       `json:"format"`
	Delimiter  *string      `json:"delimiter"`
	Encode     prop.Bool    `json:"url_encode"`
	Insert     prop.Int     `json:"batch_insert"`
}

// Parse reads a URLS_SCHEMA:
//
//	type          0 off, 1 list, 2 numbers in turn, 3 random number, 4 random text
//	parameters    {name: [value] or {min, max, step} or {min, max, chars, case}}
//	mode          0 one URL, 1 a list of them
//	max_items     how many URLs a list has at most
//	urls          external sources of parameters; the first good one wins
//	file_path     the same in a file, NAME.json
//	format        json, or plain-text: the values of a parameter are one text
//	delimiter     between the values of such a text; " " by default, "" is a line end
//	url_encode    1: values are percent-encoded
//	batch_insert  0 none, 1 all, 2 the first of the URLs joins the batch
func Parse(text string) (*Schema, error) {
	if len(text) > MaxBody {
		return nil, fmt.Errorf("has %d bytes, where %d are the limit", len(text), MaxBody)
	}
	var d document
	if err := prop.Decode(text, &d); err != nil {
		return nil, err
	}
	s := &Schema{Type: int(d.Type), BatchInsert: int(d.Insert), list: d.Mode == 1, sources: d.URLs, delimiter: " ", encode: bool(d.Encode)}
	switch {
	case d.Type < TypeOff || d.Type > TypeRandomText:
		return nil, fmt.Errorf(`has %d at "type", where 0 to 4 is wanted`, d.Type)
	case d.Mode != 0 && d.Mode != 1:
		return nil, fmt.Errorf(`has %d at "mode", where 0 or 1 is wanted`, d.Mode)
	case d.Insert < BatchNone || d.Insert > BatchFirst:
		return nil, fmt.Errorf(`has %d at "batch_insert", where 0, 1 or 2 is wanted`, d.Insert)
	case len(d.URLs) > maxSources:
		return nil, fmt.Errorf(`has %d URLs at "urls", where %d are the limit`, len(d.URLs), maxSources)
	}
	switch d.Format {
	case "", "json":
	case "plain-text":
		s.plain = true
	default:
		return nil, fmt.Errorf(`has %.40q at "format", where "json" or "plain-text" is wanted`, d.Format)
	}
	if d.Most != nil {
		s.most = int(min(max(*d.Most, 0), MaxURLs))
	}
	if d.Delimiter != nil {
		s.delimiter = *d.Delimiter
	}
	if d.File != nil && *d.File != "" {
		if !strings.HasSuffix(*d.File, ".json") {
			return nil, fmt.Errorf(`has %.80q at "file_path", where a name that ends with .json is wanted`, *d.File)
		}
		s.file = *d.File
	}
	return s, s.take(d.Parameters)
}

// Sources are the URLs that parameters come from, to be tried in their order
// until Load takes what one answers. When there are some and none is good, the
// items get bit 46.
func (s *Schema) Sources() []string { return s.sources }

// File is the path, relative to the folder base, of the file that parameters come
// from; "" when there is none. Its bytes win over those of Sources. A path that
// leads out of base is an error; open it in a way that follows no links out of
// base either (os.OpenInRoot).
func (s *Schema) File(base string) (string, error) {
	if s.file == "" {
		return "", nil
	}
	path := filepath.FromSlash(s.file)
	if filepath.IsAbs(path) {
		below, err := filepath.Rel(base, path)
		if err != nil {
			below = ".."
		}
		path = below
	}
	if !filepath.IsLocal(path) || strings.IndexByte(path, 0) >= 0 {
		return "", fmt.Errorf(`has %.80q at "file_path", which is not below the folder of schemas`, s.file)
	}
	return path, nil
}

// Load takes parameters from the body of a source or file, UTF-8, in the place of
// those it has: a JSON object as at "parameters", or, for the macro %%, a JSON
// list or a text of values. After an error the schema is as it was.
func (s *Schema) Load(body []byte) error {
	if len(body) > MaxBody {
		return fmt.Errorf("source of %d bytes, where %d are the limit", len(body), MaxBody)
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if len(body) == 0 {
		return errors.New("source that is empty")
	}
	var members prop.Members
	switch body[0] {
	case '{':
		if err := prop.Decode(string(body), &members); err != nil {
			return fmt.Errorf("source that %w", err)
		}
	case '[':
		members = prop.Members{{Value: body}}
	default:
		if !s.plain {
			return errors.New("source that is no JSON, which only the format plain-text takes")
		}
		text, err := json.Marshal(string(body))
		if err != nil {
			return err
		}
		members = prop.Members{{Value: text}}
	}
	loaded := *s
	if err := loaded.take(members); err != nil {
		return fmt.Errorf("source that %w", err)
	}
	if len(loaded.parameters) == 0 {
		return errors.New("source without parameters")
	}
	s.parameters = loaded.parameters
	return nil
}

// take reads the parameters for the type of the schema.
func (s *Schema) take(members prop.Members) error {
	s.parameters = nil
	if s.Type == TypeOff {
		return nil
	}
	if len(members) > maxParameters {
		return fmt.Errorf("has %d parameters, where %d are the limit", len(members), maxParameters)
	}
	total := 0
	index := map[string]int{}
	for _, m := range members {
		p, err := s.parameter(m)
		if err != nil {
			return err
		}
		if total += len(p.values); total > maxValues {
			return fmt.Errorf("has more than %d values", maxValues)
		}
		if i, again := index[m.Name]; again { // of equal names the last counts
			s.parameters[i] = p
			continue
		}
		index[m.Name] = len(s.parameters)
		s.parameters = append(s.parameters, p)
	}
	return nil
}

func (s *Schema) parameter(m prop.Member) (parameter, error) {
	p := parameter{name: m.Name}
	if len(m.Name) > maxValue {
		return p, fmt.Errorf("has a parameter name of %d bytes, where %d are the limit", len(m.Name), maxValue)
	}
	if s.Type == TypePredefined {
		err := s.values(&p, m)
		return p, err
	}
	var v struct {
		Min   *prop.Int `json:"min"`
		Max   *prop.Int `json:"max"`
		Step  *prop.Int `json:"step"`
		Chars prop.Int  `json:"chars"`
		Case  prop.Int  `json:"case"`
	}
	if err := prop.Decode(string(m.Value), &v); err != nil {
		return p, fmt.Errorf("%w at the parameter %.40q", err, m.Name)
	}
	if v.Min == nil || v.Max == nil || *v.Min > *v.Max || *v.Min < -maxNumber || *v.Max > maxNumber {
		return p, fmt.Errorf(`has no "min" up to "max" at the parameter %.40q`, m.Name)
	}
	p.numbers = numbers{int64(*v.Min), int64(*v.Max), 1}
	if v.Step != nil {
		p.step = int64(*v.Step)
	}
	if p.step < 1 || p.step > maxNumber {
		return p, fmt.Errorf(`has %d at "step", where 1 or more is wanted`, p.step)
	}
	p.hex, p.upper = v.Chars == 1, v.Case == 1
	switch {
	case s.Type != TypeRandomText:
	case v.Chars != 0 && v.Chars != 1:
		return p, fmt.Errorf(`has %d at "chars", where 0 or 1 is wanted`, v.Chars)
	case v.Case != 0 && v.Case != 1:
		return p, fmt.Errorf(`has %d at "case", where 0 or 1 is wanted`, v.Case)
	case p.min < 1 || p.max > maxRandom:
		return p, fmt.Errorf("has a length of %d to %d, where 1 to %d is wanted", p.min, p.max, maxRandom)
	}
	return p, nil
}

// values reads the list of a parameter; each value counts once.
func (s *Schema) values(p *parameter, m prop.Member) error {
	var texts prop.Texts
	if err := json.Unmarshal(m.Value, &texts); err != nil {
		return fmt.Errorf("%w at the parameter %.40q", err, m.Name)
	}
	if s.plain && m.Value[0] == '"' {
		texts = s.split(texts[0])
	}
	if len(texts) > maxValues {
		return fmt.Errorf("has more than %d values at the parameter %.40q", maxValues, m.Name)
	}
	met := make(map[string]bool, len(texts))
	for _, v := range texts {
		if s.encode {
			v = strings.ReplaceAll(url.QueryEscape(v), "+", "%20")
		}
		if len(v) > maxValue {
			return fmt.Errorf("has a value of %d bytes at the parameter %.40q, where %d are the limit", len(v), m.Name, maxValue)
		}
		if !met[v] {
			met[v] = true
			p.values = append(p.values, v)
		}
	}
	return nil
}

// split takes the values out of one text.
func (s *Schema) split(text string) []string {
	separate := func(c rune) bool { return c == '\n' || c == '\r' }
	var out []string
	if s.delimiter == "" {
		out = strings.FieldsFunc(text, separate)
	} else {
		out = strings.Split(text, s.delimiter)
	}
	kept := out[:0]
	for _, v := range out {
		if v = strings.Trim(v, "\r\n"); v != "" {
			kept = append(kept, v)
		}
	}
	return kept
}
