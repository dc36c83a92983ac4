package wire

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ShownReason returns why a property cannot be read, without the parts of its value that may be secret: those
// that the reason quotes.
func ShownReason(name, value, reason string) string {
	if value == "" || !IsSecretProperty(name) {
		return reason
	}
	reason = quotedText.ReplaceAllStringFunc(reason, func(quoted string) string {
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return HiddenValue
		}
		if text, _ = strings.CutSuffix(text, "..."); text != "" && strings.Contains(value, text) {
			return HiddenValue
		}
		return quoted
	})
	return strings.ReplaceAll(reason, value, HiddenValue)
}

var quotedText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// secretAnswerFields are the fields of an answer that open a session, in lower case.
var secretAnswerFields = []string{
	"authentication-info", "authorization", "proxy-authentication-info", "x-auth-token", "x-csrf-token", "x-xsrf-token",
}

// ShownAnswerField returns the value of a field of an answer as files and messages show it: cookies have their
// names and attributes, but HiddenValue for their values.
func ShownAnswerField(name, value string) string {
	switch name = strings.ToLower(name); {
	case name == "set-cookie" || name == "set-cookie2":
		pair, attributes, _ := strings.Cut(value, ";")
		if cookie, _, named := strings.Cut(pair, "="); named {
			pair = cookie + "=" + HiddenValue
		} else {
			pair = HiddenValue
		}
		if attributes != "" {
			pair += ";" + attributes
		}
		return pair
	case value != "" && slices.Contains(secretAnswerFields, name):
		return HiddenValue
	}
	return value
}

// ShownAnswerHead returns the head of an answer, lines of "Name: value", as files and messages show it.
func ShownAnswerHead(head string) string {
	var b strings.Builder
	for line := range strings.Lines(head) {
		text := strings.TrimRight(line, "\r\n")
		if name, value, is := strings.Cut(text, ":"); is {
			value = strings.TrimLeft(value, " \t")
			text = text[:len(text)-len(value)] + ShownAnswerField(strings.TrimSpace(name), value)
		}
		b.WriteString(text + line[len(strings.TrimRight(line, "\r\n")):])
	}
	return b.String()
}

// ShownRequest returns the JSON text of a request of a client as messages show it: the values of secret
// properties are HiddenValue. A text that is no JSON is HiddenValue.
func ShownRequest(text []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return []byte(HiddenValue)
	}
	hideProperties(tree)
	shown, err := json.Marshal(tree)
	if err != nil {
		return []byte(HiddenValue)
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
		if name, is := v["name"].(string); is && IsSecretProperty(name) && v["value"] != "" && v["value"] != nil {
			v["value"] = HiddenValue
		}
		for name, value := range v {
			if IsSecretProperty(name) && value != "" && value != nil {
				v[name] = HiddenValue
			} else {
				hideProperties(value)
			}
		}
	}
}
