package random_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// difference is a difference between two nodes, or a violation of the rules by one.
type difference struct {
	step   int    // from 0; for tables: the step after the comparison
	kind   string // a shrunk script must fail with the same kind
	detail string
}

// databaseWords are words of messages of the databases or of Go. No answer may have them.
var databaseWords = regexp.MustCompile(`(?i)sql logic error|constraint failed|no such (table|column|function|collation)|datatype mismatch|` +
	`misuse|cannot start a transaction|Error \d{4} ?\(|Duplicate entry|Data too long|Out of range value|Incorrect \w+ value|` +
	`internal error|runtime error|nil pointer|index out of range|(?-i:sql: )|converting driver|dc\.Scan|Some SQL error|database is locked|` +
	`Illegal mix of collations|parser stack|too many (SQL variables|columns)|incomplete input|syntax error`)

// lostPlace is where a store has lost a content: a file of this node, or its database.
var lostPlace = regexp.MustCompile(`(it is missing) in (?:file|the database)[^"]*`)

// compareAnswers compares two answers to one request; kind is "" if they are equal.
func compareAnswers(s step, a, b []byte, failedA, failedB string) (kind, detail string) {
	op := s.op()
	for _, failure := range []string{failedA, failedB} {
		if failure != "" {
			word, _, _ := strings.Cut(failure, ":")
			return word + " in " + op, failure
		}
	}
	for _, answer := range [][]byte{a, b} {
		if word := databaseWords.Find(answer); word != nil {
			return "words of a database in " + op, fmt.Sprintf("%q in %s", word, clipped(string(answer)))
		}
	}
	a, b = lostPlace.ReplaceAll(a, []byte("$1")), lostPlace.ReplaceAll(b, []byte("$1"))
	if string(a) == string(b) {
		return "", ""
	}
	va, err := normal(s.Request, a)
	if err != nil {
		return "invalid JSON from " + op, err.Error()
	}
	vb, err := normal(s.Request, b)
	if err != nil {
		return "invalid JSON from " + op, err.Error()
	}
	if where := differs("", va, vb); where != "" {
		return "answers of " + op, where
	}
	return "", ""
}

// differs returns the path of the first difference of two trees, or "".
func differs(path string, a, b any) string {
	switch x := a.(type) {
	case object:
		y, ok := b.(object)
		if !ok {
			break
		}
		for _, key := range sortedKeys(x, y) {
			va, ina := x[key]
			vb, inb := y[key]
			if ina != inb {
				return fmt.Sprintf("%s.%s: is there %t and %t", path, key, ina, inb)
			}
			if d := differs(path+"."+key, va, vb); d != "" {
				return d
			}
		}
		return ""
	case list:
		y, ok := b.(list)
		if !ok {
			break
		}
		for i := range min(len(x), len(y)) {
			if d := differs(fmt.Sprintf("%s[%d]", path, i), x[i], y[i]); d != "" {
				return d
			}
		}
		if len(x) != len(y) {
			return fmt.Sprintf("%s: %d and %d items: %s and %s", path, len(x), len(y), clipped(jsonText(x)), clipped(jsonText(y)))
		}
		return ""
	}
	if ta, tb := jsonText(a), jsonText(b); ta != tb {
		return fmt.Sprintf("%s: %s and %s", path, clipped(ta), clipped(tb))
	}
	return ""
}

func sortedKeys(objects ...object) []string {
	var keys []string
	for _, o := range objects {
		for key := range o {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func clipped(s string) string {
	const most = 2000
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// compareDumps compares the tables of two nodes, rows in any order; kind is "" if they are
// equal.
func compareDumps(a, b dump) (kind, detail string) {
	var names []string
	for name := range a {
		names = append(names, name)
	}
	for name := range b {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		onlyA, onlyB := lacking(rowTexts(name, a[name]), rowTexts(name, b[name]))
		if len(onlyA)+len(onlyB) > 0 {
			return "table " + name, fmt.Sprintf("%s has %d rows of which %d are not in the other, which has %d and %d\n  %s\n  %s",
				name, len(a[name]), len(onlyA), len(b[name]), len(onlyB), firstOf(onlyA), firstOf(onlyB))
		}
	}
	return "", ""
}

// rowTexts are the rows as sorted texts, without the ignored columns.
func rowTexts(table string, rows []row) []string {
	texts := make([]string, len(rows))
	for i, r := range rows {
		kept := object{}
		for column, value := range r {
			if !slices.Contains(ignored[table], column) {
				kept[column] = value
			}
		}
		texts[i] = jsonText(kept)
	}
	slices.Sort(texts)
	return texts
}

// lacking returns the elements that only one of two sorted lists has.
func lacking(a, b []string) (onlyA, onlyB []string) {
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			onlyA, a = append(onlyA, a[0]), a[1:]
		case len(a) == 0 || b[0] < a[0]:
			onlyB, b = append(onlyB, b[0]), b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return onlyA, onlyB
}

func firstOf(texts []string) string {
	if len(texts) == 0 {
		return "-"
	}
	return clipped(texts[0])
}
