package feed

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"strconv"
	"strings"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/apps/search/index"
	"hce/dc/internal/apps/webserver/packet"
	"hce/dc/internal/apps/webserver/webstore"
	"hce/dc/internal/wire"
)

// webStoreSite is the key of the position in the journal of a Web Store. It is no id of a site.
const webStoreSite = "web store"

// webStoreBytes is the size of the lines of one transaction, if there are several.
const webStoreBytes = 8 << 20

// webStore stores what a Web Store has appended to its journal since the last round. The position in the
// file is in the transaction of the documents. A file that has become shorter is read from its start:
// a document that is stored again changes nothing.
func (f *Feed) webStore(ctx context.Context) (changed int, err error) {
	if f.WebStore == "" {
		return 0, nil
	}
	file, err := os.Open(f.WebStore)
	if errors.Is(err, fs.ErrNotExist) { // the Web Store has not begun
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	position, err := f.webStorePosition(file)
	if err == nil {
		_, err = file.Seek(position, io.SeekStart)
	}
	if err != nil {
		return 0, err
	}
	lines := bufio.NewReaderSize(file, 1<<16)
	for ctx.Err() == nil {
		documents, n, err := f.readJournal(lines)
		if err != nil {
			return changed, fmt.Errorf("journal %s after %d bytes: %w", f.WebStore, position, err)
		}
		if n == 0 {
			return changed, nil
		}
		position += n
		state := index.SiteState{Watermark: strconv.FormatInt(position, 10)}
		if err := f.Index.Apply(index.Change{Put: documents, State: map[string]index.SiteState{webStoreSite: state}}); err != nil {
			return changed, err
		}
		changed += len(documents)
		if err := f.publishChanges(publishEvery); err != nil {
			return changed, err
		}
	}
	return changed, ctx.Err()
}

// webStorePosition returns the bytes of the journal that are in the index.
func (f *Feed) webStorePosition(file *os.File) (int64, error) {
	state, err := f.Index.Site(webStoreSite)
	if err != nil || state.Watermark == "" {
		return 0, err
	}
	position, err := strconv.ParseInt(state.Watermark, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("position in the journal of the Web Store: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.Size() < position {
		position = 0
	}
	return position, err
}

// readJournal reads whole lines. n is their size; a line that the Web Store is writing is left.
func (f *Feed) readJournal(lines *bufio.Reader) (documents []search.Document, n int64, err error) {
	for n < webStoreBytes {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return documents, n, nil
		}
		var r webstore.Record
		if err == nil {
			err = json.Unmarshal(line, &r)
		}
		if err != nil {
			return documents, n, err
		}
		n += int64(len(line))
		d := webStoreDocument(r)
		if index.Check(d) != nil {
			f.countSkipped("its URL cannot be indexed", d.URL)
			continue
		}
		documents = append(documents, d)
	}
	return documents, n, nil
}

// webStoreDocument returns the document of a record: the words of a page are its keywords, as the
// crawler of a web server has found them.
func webStoreDocument(r webstore.Record) search.Document {
	d := search.Document{
		URL: r.URL, Title: r.Title, Description: r.Description, Keywords: strings.Join(r.Words, " "),
		Size: r.Size, Date: r.Modified, Seen: r.Stored,
	}
	if r.Kind == packet.Page {
		d.Kind, d.MIMEType, d.Copy, d.Cached, d.Hash = search.Pages, "text/html", r.HTML, r.HTML != "", wire.Md5(r.HTML)
		return d
	}
	d.MIMEType = mime.TypeByExtension("." + r.Extension)
	d.Kind, d.Format = search.KindOf(d.MIMEType), r.Extension
	return d
}
