package result

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"hce/dc/internal/wire/zpack"
)

// texts are *[]byte for unpacked values that are read and not kept.
var texts = sync.Pool{New: func() any { return new([]byte) }}

// The begin of a value that Encode writes, without custom texts, up to the first result and to its tags.
const (
	pickFirst = `{"custom":[],"internal":[`
	pickThere = `{"custom":[],"default":` // in a value that Expand has written
	pickTags  = `"tagList":[[`
	pickName  = `{"name":"`
)

// mostHead is more than the bytes of a result before its tags.
const mostHead = 200

// Pick returns {"default":…} of a stored value, with only those tags of the result that are named. It skips the others
// without reading them: of a large page a short tag costs a hundredth. ok is false for a value that it does not know, such
// as one with custom texts or one of the original service; Expand reads these, and tells damage.
func Pick(stored []byte, names []string) (text []byte, ok bool) {
	if rest, is := bytes.CutPrefix(stored, []byte(pickThere)); is {
		return pickFrom(rest, names)
	}
	if !zpack.Is(stored) {
		return nil, false
	}
	buffer := texts.Get().(*[]byte)
	defer texts.Put(buffer)
	all, err := zpack.UnpackInto((*buffer)[:0], stored, zpack.MaxContent)
	if err != nil {
		return nil, false
	}
	*buffer = all
	rest, ok := bytes.CutPrefix(all, []byte(pickFirst))
	if !ok {
		return nil, false
	}
	return pickFrom(rest, names)
}

// pickFrom is Pick of a text that begins with the result.
func pickFrom(rest []byte, names []string) (text []byte, ok bool) {
	tags := bytes.Index(rest[:min(len(rest), mostHead)], []byte(pickTags))
	if tags < 0 {
		return nil, false
	}
	at := tags + len(pickTags)
	text = append([]byte(`{"default":`), rest[:at]...)
	written := false
	for at < len(rest) && rest[at] != ']' {
		end := endOf(rest, at)
		name, known := nameOf(rest, at)
		if end < 0 || !known {
			return nil, false
		}
		if slices.Contains(names, name) {
			if written {
				text = append(text, ',')
			}
			text, written = append(text, rest[at:end]...), true
		}
		if at = end; at < len(rest) && rest[at] == ',' {
			at++
		}
	}
	end := endOfNested(rest, at, 4) // tagList, its list, data and the result are open
	if end < 0 {
		return nil, false
	}
	return append(append(text, rest[at:end]...), '}'), true
}

// nameOf returns the name of the tag that begins at a place of a text.
func nameOf(text []byte, at int) (string, bool) {
	if !bytes.HasPrefix(text[at:], []byte(pickName)) {
		return "", false
	}
	start := at + len(pickName) - 1 // the quote
	end := endOf(text, start)
	if end < 0 {
		return "", false
	}
	if quoted := text[start:end]; bytes.IndexByte(quoted, '\\') >= 0 {
		var name string
		return name, json.Unmarshal(quoted, &name) == nil
	}
	return string(text[start+1 : end-1]), true
}

// endOf returns the place behind the JSON object, list or string that begins at a place, -1 if it does not end.
func endOf(text []byte, at int) int {
	if at < len(text) && text[at] == '"' {
		return endOfString(text, at)
	}
	return endOfNested(text, at+1, 1)
}

// endOfNested returns the place behind the bracket that closes the last of open objects and lists.
func endOfNested(text []byte, at, open int) int {
	for at < len(text) {
		switch text[at] {
		case '"':
			if at = endOfString(text, at); at < 0 {
				return -1
			}
			continue
		case '{', '[':
			open++
		case '}', ']':
			if open--; open == 0 {
				return at + 1
			}
		}
		at++
	}
	return -1
}

// endOfString returns the place behind a JSON string.
func endOfString(text []byte, at int) int {
	for from := at + 1; ; {
		n := bytes.IndexByte(text[from:], '"')
		if n < 0 {
			return -1
		}
		from += n + 1
		slashes := 0
		for i := from - 2; i > at && text[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 0 {
			return from
		}
	}
}
