package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/wire/prop"
)

// Limits of a macro, whatever the MacroPolicy allows.
const (
	maxMacroText  = 1 << 20
	maxMacroItems = 10000 // as written, in all sets
	maxSleep      = time.Hour
)

// ResultType is the meaning of a macro's result.
type ResultType int

// The result types of FETCHER_MACRO.
const (
	ResultDefault ResultType = iota // everything collected, as JSON
	ResultURLs                      // a list of URLs
	ResultContent                   // the content of the page
	ResultAuto                      // strings: content if one, URLs if several
)

// Macro is what a browser does on a loaded page (docs/spec/crawling.md 4.9).
type Macro struct {
	Sets        []MacroSet
	Result      ResultType
	ContentType string // of the result; empty means text/json
}

// MacroSet is a list of items, run in order Repeat times with a pause of Delay between
// rounds.
type MacroSet struct {
	Repeat int
	Delay  time.Duration
	Items  []MacroItem
}

// MacroItem is one step. Exactly one of Sleep, Input, Load and Script is set.
type MacroItem struct {
	Sleep time.Duration

	Input *Input

	Load string // URL of a script: http, https or file

	Script string // JavaScript

	// Loop repeats Script. May be nil.
	Loop *Loop
}

// Input types texts into an element. Without texts it empties the element.
type Input struct {
	XPath string
	Texts []string
}

// Loop repeats a script until it, or Check, returns true.
type Loop struct {
	Delay time.Duration // before each run
	Max   int           // maximum number of runs
	Every int           // number of runs per check
	Check string        // script whose result decides; if empty, the repeated script
}

// MacroPolicy is what the ini allows macros to do. The zero value allows nothing.
type MacroPolicy struct {
	Enabled bool
	// Remote allows scripts from http and https URLs.
	Remote bool
	// FilesBelow is the folder from which file:// URLs may load scripts. Empty allows none.
	FilesBelow string
	// MaxItems limits the items of one macro, repetitions counted; zero means 1000.
	// MaxRepeat limits the repetitions of a set and of one Loop; zero means 100. MaxTime
	// limits a whole macro; zero means one minute.
	MaxItems  int
	MaxRepeat int
	MaxTime   time.Duration
}

// ParseMacro parses the property FETCHER_MACRO: a list of items, or an object with "sets",
// "result_type" and "result_content_type". Its error is meant to follow the name of the
// property.
func ParseMacro(text string) (*Macro, error) {
	if len(text) > maxMacroText {
		return nil, fmt.Errorf("has %d bytes, more than %d", len(text), maxMacroText)
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return parseMacroObject(text)
	}
	var list prop.Texts
	if err := prop.Decode(text, &list); err != nil {
		return nil, err
	}
	set, err := macroSet(list)
	if err != nil {
		return nil, err
	}
	return &Macro{Sets: []MacroSet{set}}, nil
}

func parseMacroObject(text string) (*Macro, error) {
	var v struct {
		Sets        []json.RawMessage `json:"sets"`
		Result      prop.Int          `json:"result_type"`
		ContentType *string           `json:"result_content_type"`
	}
	if err := prop.Decode(text, &v); err != nil {
		return nil, err
	}
	if v.Result < 0 || v.Result > prop.Int(ResultAuto) {
		return nil, fmt.Errorf(`has %d at "result_type"; expected 0 to 3`, v.Result)
	}
	m := &Macro{Result: ResultType(v.Result)}
	if v.ContentType != nil {
		m.ContentType = strings.ToLower(strings.TrimSpace(*v.ContentType))
	}
	if strings.ContainsAny(m.ContentType, "\r\n") || len(m.ContentType) > 200 {
		return nil, errors.New(`has no content type at "result_content_type"`)
	}
	if len(v.Sets) == 0 {
		return nil, errors.New(`has no "sets"`)
	}
	items := 0
	for i, raw := range v.Sets {
		set, err := parseMacroSet(raw)
		if err != nil {
			return nil, fmt.Errorf(`at "sets", element %d, %w`, i+1, err)
		}
		if items += len(set.Items); items > maxMacroItems {
			return nil, fmt.Errorf("has more than %d items", maxMacroItems)
		}
		m.Sets = append(m.Sets, set)
	}
	return m, nil
}

func parseMacroSet(raw json.RawMessage) (MacroSet, error) {
	var v struct {
		Name   prop.Texts `json:"name"`
		Repeat *prop.Int  `json:"repeat"`
		Delay  prop.Float `json:"delay"`
		Items  prop.Texts `json:"items"`
	}
	if err := prop.Decode(string(raw), &v); err != nil {
		return MacroSet{}, err
	}
	set, err := macroSet(v.Items)
	if err != nil {
		return MacroSet{}, err
	}
	if v.Repeat != nil {
		if *v.Repeat < 0 || *v.Repeat > maxMacroItems {
			return MacroSet{}, fmt.Errorf(`has %d at "repeat"; expected 0 to %d`, *v.Repeat, maxMacroItems)
		}
		set.Repeat = int(*v.Repeat)
	}
	if set.Delay, err = secondsToPause(float64(v.Delay)); err != nil {
		return MacroSet{}, fmt.Errorf(`at "delay" %w`, err)
	}
	return set, nil
}

// macroSet returns a set that runs texts once.
func macroSet(texts []string) (MacroSet, error) {
	set := MacroSet{Repeat: 1}
	if len(texts) > maxMacroItems {
		return set, fmt.Errorf("has more than %d items", maxMacroItems)
	}
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			continue
		}
		item, err := parseMacroItem(text)
		if err != nil {
			return set, fmt.Errorf("at item %d %w", i+1, err)
		}
		set.Items = append(set.Items, item)
	}
	return set, nil
}

var (
	onlyDigits = regexp.MustCompile(`^\s*\d+\s*$`)
	loopForm   = regexp.MustCompile(`^!(\d+(?:\.\d+)?):(\d+):(?s:(.+))$`)
	// checkForm matches the last part that looks like an iteration, since scripts contain
	// colons.
	checkForm = regexp.MustCompile(`^(?s:(.+)):(\d+):(?s:(.+))$`)
)

func parseMacroItem(text string) (MacroItem, error) {
	trimmed := strings.TrimSpace(text)
	switch {
	case onlyDigits.MatchString(text):
		n, err := strconv.ParseFloat(trimmed, 64)
		if err != nil {
			return MacroItem{}, fmt.Errorf("has no time in %q", prop.Clip(text))
		}
		d, err := secondsToPause(n)
		return MacroItem{Sleep: d}, err
	case text[0] == '^':
		xpath, rest, found := strings.Cut(text[1:], "\t")
		if strings.TrimSpace(xpath) == "" {
			return MacroItem{}, fmt.Errorf("has no XPath in %q", prop.Clip(text))
		}
		in := &Input{XPath: strings.TrimSpace(xpath)}
		if found && rest != "" {
			in.Texts = strings.Split(rest, "\t")
		}
		return MacroItem{Input: in}, nil
	case text[0] == '!':
		if item, ok, err := parseLoop(text); ok || err != nil {
			return item, err
		}
		// Other JavaScript may begin with "!" too.
	}
	lower := strings.ToLower(trimmed)
	for _, scheme := range []string{"http://", "https://", "file://"} {
		if strings.HasPrefix(lower, scheme) {
			return MacroItem{Load: trimmed}, nil
		}
	}
	return MacroItem{Script: text}, nil
}

// parseLoop parses "!delay:max:script[:iteration:checkScript]".
func parseLoop(text string) (MacroItem, bool, error) {
	parts := loopForm.FindStringSubmatch(text)
	if parts == nil {
		return MacroItem{}, false, nil
	}
	delay, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return MacroItem{}, false, fmt.Errorf("has no delay in %q", prop.Clip(text))
	}
	l := &Loop{Every: 1}
	if l.Delay, err = secondsToPause(delay); err != nil {
		return MacroItem{}, false, err
	}
	if l.Max, err = strconv.Atoi(parts[2]); err != nil || l.Max > maxMacroItems {
		return MacroItem{}, false, fmt.Errorf("has %s runs in %q, where at most %d are", parts[2], prop.Clip(text), maxMacroItems)
	}
	script := parts[3]
	if check := checkForm.FindStringSubmatch(script); check != nil {
		if l.Every, err = strconv.Atoi(check[2]); err != nil || l.Every > maxMacroItems {
			return MacroItem{}, false, fmt.Errorf("has %s iterations in %q, where at most %d are", check[2], prop.Clip(text), maxMacroItems)
		}
		l.Every = max(l.Every, 1)
		script, l.Check = check[1], check[3]
	}
	return MacroItem{Script: script, Loop: l}, true, nil
}

// secondsToPause converts a number of seconds to a pause.
func secondsToPause(n float64) (time.Duration, error) {
	if n < 0 || n > maxSleep.Seconds() {
		return 0, fmt.Errorf("has %v; expected 0 to %v seconds", n, maxSleep.Seconds())
	}
	return time.Duration(n * float64(time.Second)), nil
}

// SplitURL splits a URL from the script behind "###" in it. The Macro is nil if there is
// none.
func SplitURL(text string) (string, *Macro) {
	page, script, found := strings.Cut(text, "###")
	if !found || strings.TrimSpace(script) == "" {
		return page, nil
	}
	return page, &Macro{Sets: []MacroSet{{Repeat: 1, Items: []MacroItem{{Script: script}}}}}
}
