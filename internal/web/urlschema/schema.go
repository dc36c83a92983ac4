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

// Values of BatchInsert: which generated URLs join the current batch.
const (
	BatchNone = iota
	BatchAll
	BatchFirst
)

const (
	// MaxBody bounds a property or an external source, in bytes.
	MaxBody = 8 << 20

	// MaxURLs bounds the URLs of one call of Generate.
	MaxURLs = 100_000

	maxValues     = 100_000 // of all lists together
	maxValue      = 2 << 10 // bytes of one value
	maxParameters = 100
	maxSources    = 100
	maxNumber     = 1 << 53
	maxRandom     = 1024 // characters of a random text
)

// Schema is a parsed URLS_SCHEMA. Only Load changes it.
type Schema struct {
	Type        int // one of the constants Type...
	BatchInsert int // one of the constants Batch...

	list       bool // several URLs
	most       int  // 0: not given
	sources    []string
	file       string
	plain      bool // the values of a parameter are one text
	delimiter  string
	encode     bool
	parameters []parameter
}

// parameter is the definition of one macro.
type parameter struct {
	name   string
	values []string // of TypePredefined
	numbers
	hex, upper bool // of TypeRandomText
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

// Parse parses a URLS_SCHEMA:
//
//	type          0 off, 1 list, 2 consecutive numbers, 3 random number, 4 random text
//	parameters    {name: [value] or {min, max, step} or {min, max, chars, case}}
//	mode          0 one URL, 1 a list of URLs
//	max_items     maximum length of the list
//	urls          external sources of parameters; the first valid one counts
//	file_path     a file of parameters, NAME.json
//	format        json, or plain-text: the values of a parameter are one text
//	delimiter     separator in such a text; " " by default, "" means line ends
//	url_encode    1: percent-encode values
//	batch_insert  0 none, 1 all, 2 the first of the URLs joins the batch
func Parse(text string) (*Schema, error) {
	if len(text) > MaxBody {
		return nil, fmt.Errorf("has %d bytes; the limit is %d", len(text), MaxBody)
	}
	var d document
	if err := prop.Decode(text, &d); err != nil {
		return nil, err
	}
	s := &Schema{Type: int(d.Type), BatchInsert: int(d.Insert), list: d.Mode == 1, sources: d.URLs, delimiter: " ", encode: bool(d.Encode)}
	switch {
	case d.Type < TypeOff || d.Type > TypeRandomText:
		return nil, fmt.Errorf(`has %d at "type"; expected 0 to 4`, d.Type)
	case d.Mode != 0 && d.Mode != 1:
		return nil, fmt.Errorf(`has %d at "mode"; expected 0 or 1`, d.Mode)
	case d.Insert < BatchNone || d.Insert > BatchFirst:
		return nil, fmt.Errorf(`has %d at "batch_insert"; expected 0, 1 or 2`, d.Insert)
	case len(d.URLs) > maxSources:
		return nil, fmt.Errorf(`has %d URLs at "urls"; the limit is %d`, len(d.URLs), maxSources)
	}
	switch d.Format {
	case "", "json":
	case "plain-text":
		s.plain = true
	default:
		return nil, fmt.Errorf(`has %.40q at "format"; expected "json" or "plain-text"`, d.Format)
	}
	if d.Most != nil {
		s.most = int(min(max(*d.Most, 0), MaxURLs))
	}
	if d.Delimiter != nil {
		s.delimiter = *d.Delimiter
	}
	if d.File != nil && *d.File != "" {
		if !strings.HasSuffix(*d.File, ".json") {
			return nil, fmt.Errorf(`has %.80q at "file_path"; expected a name that ends with .json`, *d.File)
		}
		s.file = *d.File
	}
	return s, s.parseParameters(d.Parameters)
}

// Sources returns the URLs of external parameters, to be tried in order until Load accepts
// one. If all fail, the items get bit 46.
func (s *Schema) Sources() []string { return s.sources }

// File returns the path of the file with parameters, relative to the folder base; ""
// without one. The file precedes Sources. A path outside base is an error; open it with
// os.OpenInRoot, which does not follow links out of base either.
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

// Load replaces the parameters by those of a source or file: UTF-8 with a JSON object as at
// "parameters", or, for the macro %%, a JSON list or a text of values. On error the schema
// is unchanged.
func (s *Schema) Load(body []byte) error {
	if len(body) > MaxBody {
		return fmt.Errorf("source of %d bytes; the limit is %d", len(body), MaxBody)
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if len(body) == 0 {
		return errors.New("empty source")
	}
	var members prop.Members
	switch body[0] {
	case '{':
		if err := prop.Decode(string(body), &members); err != nil {
			return fmt.Errorf("source %w", err)
		}
	case '[':
		members = prop.Members{{Value: body}}
	default:
		if !s.plain {
			return errors.New("source is not JSON; only the format plain-text accepts text")
		}
		text, err := json.Marshal(string(body))
		if err != nil {
			return err
		}
		members = prop.Members{{Value: text}}
	}
	loaded := *s
	if err := loaded.parseParameters(members); err != nil {
		return fmt.Errorf("source %w", err)
	}
	if len(loaded.parameters) == 0 {
		return errors.New("source without parameters")
	}
	s.parameters = loaded.parameters
	return nil
}

// parseParameters parses the parameters for the type of the schema.
func (s *Schema) parseParameters(members prop.Members) error {
	s.parameters = nil
	if s.Type == TypeOff {
		return nil
	}
	if len(members) > maxParameters {
		return fmt.Errorf("has %d parameters; the limit is %d", len(members), maxParameters)
	}
	total := 0
	index := map[string]int{}
	for _, m := range members {
		p, err := s.parseParameter(m)
		if err != nil {
			return err
		}
		if total += len(p.values); total > maxValues {
			return fmt.Errorf("has more than %d values", maxValues)
		}
		if i, again := index[m.Name]; again { // the last of equal names counts
			s.parameters[i] = p
			continue
		}
		index[m.Name] = len(s.parameters)
		s.parameters = append(s.parameters, p)
	}
	return nil
}

func (s *Schema) parseParameter(m prop.Member) (parameter, error) {
	p := parameter{name: m.Name}
	if len(m.Name) > maxValue {
		return p, fmt.Errorf("has a parameter name of %d bytes; the limit is %d", len(m.Name), maxValue)
	}
	if s.Type == TypePredefined {
		err := s.parseValues(&p, m)
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
		return p, fmt.Errorf(`has no valid "min" and "max" at the parameter %.40q`, m.Name)
	}
	p.numbers = numbers{int64(*v.Min), int64(*v.Max), 1}
	if v.Step != nil {
		p.step = int64(*v.Step)
	}
	if p.step < 1 || p.step > maxNumber {
		return p, fmt.Errorf(`has %d at "step"; expected at least 1`, p.step)
	}
	p.hex, p.upper = v.Chars == 1, v.Case == 1
	switch {
	case s.Type != TypeRandomText:
	case v.Chars != 0 && v.Chars != 1:
		return p, fmt.Errorf(`has %d at "chars"; expected 0 or 1`, v.Chars)
	case v.Case != 0 && v.Case != 1:
		return p, fmt.Errorf(`has %d at "case"; expected 0 or 1`, v.Case)
	case p.min < 1 || p.max > maxRandom:
		return p, fmt.Errorf("has a length of %d to %d; expected 1 to %d", p.min, p.max, maxRandom)
	}
	return p, nil
}

// parseValues parses the distinct values of a list.
func (s *Schema) parseValues(p *parameter, m prop.Member) error {
	var texts prop.Texts
	if err := json.Unmarshal(m.Value, &texts); err != nil {
		return fmt.Errorf("%w at the parameter %.40q", err, m.Name)
	}
	if s.plain && m.Value[0] == '"' {
		texts = s.splitValues(texts[0])
	}
	if len(texts) > maxValues {
		return fmt.Errorf("has more than %d values at the parameter %.40q", maxValues, m.Name)
	}
	seen := make(map[string]bool, len(texts))
	for _, v := range texts {
		if s.encode {
			v = strings.ReplaceAll(url.QueryEscape(v), "+", "%20")
		}
		if len(v) > maxValue {
			return fmt.Errorf("has a value of %d bytes at the parameter %.40q; the limit is %d", len(v), m.Name, maxValue)
		}
		if !seen[v] {
			seen[v] = true
			p.values = append(p.values, v)
		}
	}
	return nil
}

// splitValues splits one text into values.
func (s *Schema) splitValues(text string) []string {
	delimiter := s.delimiter
	if delimiter == "" {
		text, delimiter = strings.ReplaceAll(text, "\r", "\n"), "\n"
	}
	var kept []string
	for v := range strings.SplitSeq(text, delimiter) {
		if v = strings.Trim(v, "\r\n"); v != "" {
			kept = append(kept, v)
		}
	}
	return kept
}
