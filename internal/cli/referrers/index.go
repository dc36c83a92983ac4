package referrers

import (
	"context"
	"encoding/json"
	"iter"

	"hce/dc/internal/cli/linesort"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire/urlkey"
)

// Index has the links to all URLs of a site. Its memory does not grow with the site: they are in files.
type Index struct {
	next func() (string, error, bool)
	stop func()
	line string // the first one that was not used; "" before the first and behind the last one
}

// keyLength is the size of a key at the start of a line.
const keyLength = 32

// NewIndex reads all stored pages of a site. It writes files into folder, which the caller makes and removes.
func NewIndex(ctx context.Context, reader pages.Reader, folder string) (*Index, error) {
	lines := linesort.Sorter{Folder: folder}
	err := Read(ctx, reader, func(to string, from Referrer) error {
		text, err := json.Marshal(from)
		if err != nil {
			return err
		}
		return lines.Add(urlkey.Of(to) + string(text) + "\n")
	})
	if err != nil {
		return nil, err
	}
	x := &Index{}
	x.next, x.stop = iter.Pull2(func(yield func(string, error) bool) {
		err := lines.Each(func(line string) error {
			if !yield(line, nil) {
				return context.Canceled
			}
			return nil
		})
		if err != nil && err != context.Canceled {
			yield("", err)
		}
	})
	x.line, err = x.nextLine()
	return x, err
}

func (x *Index) nextLine() (string, error) {
	line, err, _ := x.next()
	return line, err
}

// Of returns the links to the URL with a key, as JSON objects, in the order of the URLs of their pages; an empty
// list without one. Each key is greater than that of the call before.
func (x *Index) Of(key string) (list []json.RawMessage, err error) {
	list = []json.RawMessage{}
	for x.line != "" && x.line[:keyLength] <= key {
		if x.line[:keyLength] == key {
			list = append(list, json.RawMessage(x.line[keyLength:len(x.line)-1]))
		}
		if x.line, err = x.nextLine(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Close ends the reading of the files.
func (x *Index) Close() { x.stop() }
