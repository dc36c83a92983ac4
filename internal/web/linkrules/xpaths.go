package linkrules

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/web/dates"
	"hce/dc/internal/wire/prop"
)

// maxXPath bounds an XPath expression, in bytes.
const maxXPath = 4 << 10

// XPaths is the property COLLECT_URLS_XPATH_LIST: the XPath expressions that find the links
// of a page.
type XPaths struct {
	sets    []urlRule[[]string]
	builtin bool
	dates   string // strftime format
}

// ParseXPaths parses {"sets": {urlRegex: [xpath]}, "mode": 0 or 1, "date_format":
// strftime}. Source: docs/spec/crawling.md 5.1.
func ParseXPaths(text string) (*XPaths, error) {
	var v struct {
		Sets  prop.Members `json:"sets"`
		Mode  prop.Int     `json:"mode"`
		Dates *string      `json:"date_format"`
	}
	if err := decodeJSON(text, &v); err != nil {
		return nil, err
	}
	x := &XPaths{builtin: v.Mode == 1, dates: "%Y-%m-%d"}
	if v.Mode != 0 && v.Mode != 1 {
		return nil, fmt.Errorf(`has %d at "mode"; expected 0 or 1`, v.Mode)
	}
	if v.Dates != nil && *v.Dates != "" {
		x.dates = *v.Dates
		if _, err := dates.Format(x.dates, time.Time{}); err != nil {
			return nil, fmt.Errorf(`%w at "date_format"`, err)
		}
	}
	count := 0
	for _, m := range v.Sets {
		var texts prop.Texts
		if err := parseMember(m.Name, m.Value, &texts); err != nil {
			return nil, err
		}
		for _, t := range texts {
			if len(t) > maxXPath {
				return nil, fmt.Errorf("has an XPath of %d bytes; the limit is %d", len(t), maxXPath)
			}
		}
		page, err := compileExpression(m.Name)
		if err != nil {
			return nil, err
		}
		count += 1 + len(texts)
		x.sets = append(x.sets, urlRule[[]string]{page, texts})
	}
	return x, checkCount(count)
}

// For returns the distinct expressions of all sets whose urlRegex is found in the URL of a
// page, with macros replaced, and whether the built-in list of attributes applies too. A
// nil XPaths uses only the built-in list.
func (x *XPaths) For(pageURL string, now time.Time) (expressions []string, builtin bool) {
	if x == nil {
		return nil, true
	}
	seen := map[string]bool{}
	for _, set := range x.sets {
		if !matchesURL(set.url, pageURL) {
			continue
		}
		for _, text := range set.value {
			if text = x.expandMacros(text, now); text != "" && !seen[text] {
				seen[text] = true
				expressions = append(expressions, text)
			}
		}
	}
	return expressions, x.builtin
}

// moment finds the time macros: UTC plus a number of hours of at most two digits.
var moment = regexp.MustCompile(`%@(DATE|YEAR|SHORTYEAR|MONTH|DAY|HOUR|MINUTE|SECOND)\(\s*([+-]?\d{0,2})\s*\)%`)

// moments maps macros to strftime formats.
var moments = map[string]string{
	"YEAR": "%Y", "SHORTYEAR": "%y", "MONTH": "%m", "DAY": "%d", "HOUR": "%H", "MINUTE": "%M", "SECOND": "%S",
}

func (x *XPaths) expandMacros(text string, now time.Time) string {
	if !strings.Contains(text, "%@") {
		return text
	}
	return moment.ReplaceAllStringFunc(text, func(macro string) string {
		parts := moment.FindStringSubmatch(macro)
		hours, _ := strconv.Atoi(parts[2])
		format, ok := moments[parts[1]]
		if !ok {
			format = x.dates
		}
		text, _ := dates.Format(format, now.UTC().Add(time.Duration(hours)*time.Hour)) // it was checked
		return text
	})
}

// ParseCollectLimits parses COLLECT_URLS_LIMITS, the maximum number of links from some pages:
// {urlRegex: [[optionRegex, number], ...]}. The only option is MaxURLSFromPage; optionRegex
// is searched for in it, ignoring case, and other pairs are ignored. The last pair for a page
// counts; 0 means no limit. Source: docs/spec/crawling.md 3.
func ParseCollectLimits(text string) (ByURL[int64], error) {
	list, err := parseMembers(text)
	if err != nil {
		return nil, err
	}
	var limits ByURL[int64]
	for _, m := range list {
		page, err := compileIgnoreCase(m.Name)
		if err != nil {
			return nil, err
		}
		pairs, err := parseElements(m.Value)
		if err != nil {
			return nil, err
		}
		if len(pairs) > 0 && pairs[0][0] != '[' { // a single pair
			pairs = []json.RawMessage{m.Value}
		}
		for _, raw := range pairs {
			limit, applies, err := collectPair(m.Name, raw)
			if err != nil {
				return nil, err
			}
			if applies {
				limits = append(limits, urlRule[int64]{page, limit})
			}
		}
	}
	slices.Reverse(limits)
	return limits, checkCount(len(limits))
}

// collectPair parses [optionRegex, number].
func collectPair(name string, raw json.RawMessage) (limit int64, applies bool, err error) {
	pair, err := parseElements(raw)
	if err != nil {
		return 0, false, err
	}
	if len(pair) != 2 {
		return 0, false, fmt.Errorf("has %.80s at %.80q; expected [option, number]", raw, name)
	}
	text, err := prop.Text(pair[0])
	if err != nil {
		return 0, false, err
	}
	option, err := compileIgnoreCase(text)
	if err != nil {
		return 0, false, err
	}
	var n prop.Int
	if err := parseMember(name, pair[1], &n); err != nil {
		return 0, false, err
	}
	return max(int64(n), 0), matchesURL(option, "MaxURLSFromPage"), nil
}
