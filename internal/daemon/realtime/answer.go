package realtime

import (
	"encoding/json"
	"errors"
	"fmt"

	"hce/dc/internal/daemon/executor"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/realtimeresponse"
)

// answer is realtimeresponse.Answer with contents that are passed on unchanged.
type answer struct {
	Contents []json.RawMessage        `json:"contents"`
	Grades   []realtimeresponse.Grade `json:"grades"`
	Again    json.RawMessage          `json:"again"`

	ErrorCode    int    `json:"errorCode"`
	ErrorMessage string `json:"errorMessage"`
}

// readAnswer parses the answer of the last stage. A refused request is an error.
func readAnswer(r executor.Result) (answer, error) {
	var a answer
	if err := json.Unmarshal(r.Stdout, &a); err != nil {
		return a, fmt.Errorf("cannot read the node's answer: %w", err)
	}
	switch {
	case a.ErrorCode != 0:
		return a, errors.New(a.ErrorMessage)
	case a.Contents == nil || len(a.Grades) != len(a.Contents):
		return a, errors.New("the node's answer has no contents; does DRCEProcessorAppName end with --finalize?")
	}
	if string(a.Again) == "null" {
		a.Again = nil
	}
	return a, nil
}

// key identifies the URL of an element of contents.
type key struct {
	SiteID string `json:"siteId"`
	URLMd5 string `json:"urlMd5"`
}

func keyOf(element json.RawMessage) (key, bool) {
	var k key
	err := json.Unmarshal(element, &k)
	return k, err == nil
}

// mergeRound replaces elements by better ones of a second round and appends new elements.
func (a *answer) mergeRound(second answer) {
	at := map[key]int{}
	for i, element := range a.Contents {
		if k, ok := keyOf(element); ok {
			at[k] = i
		}
	}
	for i, element := range second.Contents {
		k, ok := keyOf(element)
		if !ok {
			continue
		}
		was, known := at[k]
		switch {
		case !known:
			a.Contents, a.Grades = append(a.Contents, element), append(a.Grades, second.Grades[i])
		case second.Grades[i].Better(a.Grades[was]):
			a.Contents[was], a.Grades[was] = element, second.Grades[i]
		}
	}
}

// failedContents returns the contents of a share without an answer: an error for each item.
func failedContents(b wire.Batch, bits errormask.Mask) json.RawMessage {
	list := make([]wire.URLContentResponse, len(b.Items))
	for i, item := range b.Items {
		list[i] = realtimeresponse.Failed(b.ID, item, bits)
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
