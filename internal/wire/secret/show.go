package secret

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ShowReason returns why a property cannot be read, without the parts of its value that may be secret: those
// that the reason quotes.
func ShowReason(name, value, reason string) string {
	if value == "" || !IsProperty(name) {
		return reason
	}
	reason = quotedText.ReplaceAllStringFunc(reason, func(quoted string) string {
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return Hidden
		}
		if text, _ = strings.CutSuffix(text, "..."); text != "" && strings.Contains(value, text) {
			return Hidden
		}
		return quoted
	})
	return strings.ReplaceAll(reason, value, Hidden)
}

var quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// answerFields are the fields of an answer that open a session, in lower case.
var answerFields = []string{
	"authentication-info", "authorization", "proxy-authentication-info", "x-auth-token", "x-csrf-token", "x-xsrf-token",
}

// ShowAnswerField returns the value of a field of an answer as files and messages show it: cookies have their
// names and attributes, but Hidden for their values.
func ShowAnswerField(name, value string) string {
	switch name = strings.ToLower(name); {
	case name == "set-cookie" || name == "set-cookie2":
		pair, attributes, _ := strings.Cut(value, ";")
		if cookie, _, named := strings.Cut(pair, "="); named {
			pair = cookie + "=" + Hidden
		} else {
			pair = Hidden
		}
		if attributes != "" {
			pair += ";" + attributes
		}
		return pair
	case value != "" && slices.Contains(answerFields, name):
		return Hidden
	}
	return value
}

// ShowAnswerHead returns the head of an answer, lines of "Name: value", as files and messages show it.
func ShowAnswerHead(head string) string {
	var b strings.Builder
	for line := range strings.Lines(head) {
		text := strings.TrimRight(line, "\r\n")
		if name, value, is := strings.Cut(text, ":"); is {
			value = strings.TrimLeft(value, " \t")
			text = text[:len(text)-len(value)] + ShowAnswerField(strings.TrimSpace(name), value)
		}
		b.WriteString(text + line[len(strings.TrimRight(line, "\r\n")):])
	}
	return b.String()
}

// ShowRequest returns the JSON text of a request of a client as messages show it: the values of secret
// properties are Hidden. A text that is no JSON is Hidden.
func ShowRequest(text []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return []byte(Hidden)
	}
	hideProperties(tree)
	shown, err := json.Marshal(tree)
	if err != nil {
		return []byte(Hidden)
	}
	return shown
}

// hideProperties hides the values of secret properties in objects of names and values, and in lists of
// {"name", "value"}.
func hideProperties(tree any) {
	switch v := tree.(type) {
	case []any:
		for _, element := range v {
			hideProperties(element)
		}
	case map[string]any:
		if name, is := v["name"].(string); is && IsProperty(name) && v["value"] != "" && v["value"] != nil {
			v["value"] = Hidden
		}
		for name, value := range v {
			if IsProperty(name) && value != "" && value != nil {
				v[name] = Hidden
			} else {
				hideProperties(value)
			}
		}
	}
}
