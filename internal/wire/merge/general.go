package merge

import (
	"encoding/json"
	"strings"
)

// general collects GeneralResponses. The result is the first one, with the host of its
// node, the joined codes and messages, and all statuses.
type general struct {
	first           object
	codes, messages []string
	statuses        []json.RawMessage
}

func (g *general) addAnswer(host string, raw json.RawMessage) bool {
	o, ok := readObject(raw)
	if !ok {
		return false
	}
	code, codeOK := o.textValue("errorCode")
	message, messageOK := o.textValue("errorMessage")
	statuses, listOK := readList(o["statuses"])
	if !codeOK || !messageOK || !listOK && !isNull(o["statuses"]) {
		return false
	}
	if g.first == nil {
		o.setHost(host)
		g.first = o
	}
	g.codes, g.messages = append(g.codes, code), append(g.messages, message)
	g.statuses = append(g.statuses, statuses...)
	return true
}

func (g *general) mergedObject() (json.RawMessage, error) {
	g.first["errorCode"], _ = json.Marshal(strings.Join(g.codes, ";")) // texts and valid JSON never fail
	g.first["errorMessage"], _ = json.Marshal(strings.Join(g.messages, ";"))
	g.first["statuses"], _ = json.Marshal(append([]json.RawMessage{}, g.statuses...))
	return json.Marshal(g.first)
}
