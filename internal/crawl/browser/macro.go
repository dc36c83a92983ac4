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

// Bounds of what a macro may ask for, whatever the MacroPolicy allows.
const (
	maxMacroText  = 1 << 20
	maxMacroItems = 10000 // as written, over all sets
	maxSleep      = time.Hour
)

// ResultType says what the result of a macro is.
type ResultType int

// The result types of FETCHER_MACRO.
const (
	ResultDefault ResultType = iota // all that was collected, as JSON
	ResultURLs                      // a list of URLs
	ResultContent                   // the content of the page
	ResultAuto                      // texts: content if one, URLs if several
)

// Macro is what a browser does on a page that has loaded (docs/spec/crawling.md 4.9).
type Macro struct {
	Sets        []MacroSet
	Result      ResultType
	ContentType string // of the result; empty for text/json
}

// MacroSet are items that are done in order, Repeat times, with Delay between two
// rounds.
type MacroSet struct {
	Name   string
	Repeat int
	Delay  time.Duration
	Items  []MacroItem
}

// MacroItem is one step. Exactly one of its fields is set, but for Delay to Check,
// which belong together.
type MacroItem struct {
	Sleep time.Duration

	Input *Input

	Load string // URL of a script: http, https or file

	Script string // JavaScript

	// Until says that Script is run until it, or Check, is true.
	Until *Until
}

// Input is typing into an element. Without text the element is emptied.
type Input struct {
	XPath string
	Texts []string
}

// Until bounds a script that is repeated.
type Until struct {
	Delay time.Duration // before each run
	Max   int           // runs at most
	Every int           // runs between two checks
	Check string        // the script whose result decides; empty: the script itself
}

// MacroPolicy is what the ini lets macros do. The zero value lets them do nothing.
type MacroPolicy struct {
	Enabled bool
	// Remote lets them load scripts from http and https.
	Remote bool
	// FilesBelow is the folder whose scripts file:// may load; empty for none.
	FilesBelow string
	// MaxItems is how many items, repetitions counted, one macro may run; zero means
	// 1000. MaxRepeat bounds the repetitions of a set and of one "until" item; zero
	// means 100. MaxTime bounds a whole macro; zero means a minute.
	MaxItems  int
	MaxRepeat int
	MaxTime   time.Duration
}

// ParseMacro reads the property FETCHER_MACRO: a list of items, or an object with
// "sets", "result_type" and "result_content_type". Its error reads well behind the
// property's name.
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
		return nil, fmt.Errorf(`has %d at "result_type", where 0 to 3 is wanted`, v.Result)
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
	set.Name = strings.Join(v.Name, " ")
	if v.Repeat != nil {
		if *v.Repeat < 0 || *v.Repeat > maxMacroItems {
			return MacroSet{}, fmt.Errorf(`has %d at "repeat", where 0 to %d is wanted`, *v.Repeat, maxMacroItems)
		}
		set.Repeat = int(*v.Repeat)
	}
	if set.Delay, err = seconds(float64(v.Delay)); err != nil {
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
	untilForm  = regexp.MustCompile(`^!(\d+(?:\.\d+)?):(\d+):(?s:(.+))$`)
	// checkForm takes the last place that looks like an iteration: scripts have
	// colons of their own.
	checkForm = regexp.MustCompile(`^(?s:(.+)):(\d+):(?s:(.+))$`)
)

func parseMacroItem(text string) (MacroItem, error) {
	trimmed := strings.TrimSpace(text)
	switch {
	case onlyDigits.MatchString(text):
		n, err := strconv.ParseFloat(trimmed, 64)
		if err != nil {
			return MacroItem{}, fmt.Errorf("has no time in %q", clip(text))
		}
		d, err := seconds(n)
		return MacroItem{Sleep: d}, err
	case text[0] == '^':
		xpath, rest, found := strings.Cut(text[1:], "\t")
		if strings.TrimSpace(xpath) == "" {
			return MacroItem{}, fmt.Errorf("has no XPath in %q", clip(text))
		}
		in := &Input{XPath: strings.TrimSpace(xpath)}
		if found && rest != "" {
			in.Texts = strings.Split(rest, "\t")
		}
		return MacroItem{Input: in}, nil
	case text[0] == '!':
		if item, ok, err := parseUntil(text); ok || err != nil {
			return item, err
		}
		// JavaScript may begin with a "!" too.
	}
	lower := strings.ToLower(trimmed)
	for _, scheme := range []string{"http://", "https://", "file://"} {
		if strings.HasPrefix(lower, scheme) {
			return MacroItem{Load: trimmed}, nil
		}
	}
	return MacroItem{Script: text}, nil
}

// parseUntil reads "!delay:max:script[:iteration:checkScript]".
func parseUntil(text string) (MacroItem, bool, error) {
	parts := untilForm.FindStringSubmatch(text)
	if parts == nil {
		return MacroItem{}, false, nil
	}
	delay, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return MacroItem{}, false, fmt.Errorf("has no delay in %q", clip(text))
	}
	u := &Until{Every: 1}
	if u.Delay, err = seconds(delay); err != nil {
		return MacroItem{}, false, err
	}
	if u.Max, err = strconv.Atoi(parts[2]); err != nil || u.Max > maxMacroItems {
		return MacroItem{}, false, fmt.Errorf("has %s runs in %q, where at most %d are", parts[2], clip(text), maxMacroItems)
	}
	script := parts[3]
	if check := checkForm.FindStringSubmatch(script); check != nil {
		if u.Every, err = strconv.Atoi(check[2]); err != nil || u.Every > maxMacroItems {
			return MacroItem{}, false, fmt.Errorf("has %s iterations in %q, where at most %d are", check[2], clip(text), maxMacroItems)
		}
		u.Every = max(u.Every, 1)
		script, u.Check = check[1], check[3]
	}
	return MacroItem{Script: script, Until: u}, true, nil
}

// seconds is a number of seconds as a time to wait.
func seconds(n float64) (time.Duration, error) {
	if n < 0 || n > maxSleep.Seconds() {
		return 0, fmt.Errorf("has %v, where 0 to %v seconds is wanted", n, maxSleep.Seconds())
	}
	return time.Duration(n * float64(time.Second)), nil
}

// clip is text for a message, cut where it is long.
func clip(text string) string {
	if len(text) > 80 {
		return strings.ToValidUTF8(text[:80], "") + "..."
	}
	return text
}

// SplitURL parts a URL from the one script that may stand behind "###" in it. The
// Macro is nil when there is none.
func SplitURL(text string) (string, *Macro) {
	page, script, found := strings.Cut(text, "###")
	if !found || strings.TrimSpace(script) == "" {
		return page, nil
	}
	return page, &Macro{Sets: []MacroSet{{Repeat: 1, Items: []MacroItem{{Script: script}}}}}
}
