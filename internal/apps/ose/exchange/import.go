package exchange

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/cli/warcimport"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
	"hce/dc/warc"
)

// portionPages is the most pages, and the most other URLs, of a portion.
var portionPages = 200

// portionBytes is the most bytes of a portion, unless its last page exceeds them.
const portionBytes = 64 << 20

// Imported counts what an import has read.
type Imported struct {
	Pages    int64 `json:"pages"`    // that are new
	Versions int64 `json:"versions"` // of pages that the site had
	Known    int64 `json:"known"`    // pages and URLs that the site had
	Rows     int64 `json:"rows"`     // new URLs without a page
	// Faults are pages that the site could have: they cannot be read, or are not valid.
	Faults int64 `json:"faults"`
}

// Import stores the pages of a folder in a site that exists. warn is called for each page that cannot be
// read. With an error, what was read before it is stored; the same import continues.
func Import(ctx context.Context, service service.Service, site wire.Site, f *folder.Folder, warn func(error)) (done Imported, err error) {
	urls, err := f.URLs()
	if err != nil {
		return done, err
	}
	defer urls.Close()
	i := &importer{ctx: ctx, service: service, site: site, folder: f, done: &done, warn: warn}
	defer i.removeFile()
	for record, err := range urls.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = i.addRecord(record)
		}
		if err != nil {
			return done, errors.Join(err, i.storePortion())
		}
	}
	return done, i.storePortion()
}

// importer collects a portion: pages in a temporary WARC file, and rows.
type importer struct {
	ctx     context.Context
	service service.Service
	site    wire.Site
	folder  *folder.Folder
	done    *Imported
	warn    func(error)

	file   *os.File // nil: no page
	buffer *bufio.Writer
	out    *warc.Writer
	pages  int
	bytes  int64
	rows   []map[string]any
}

// addRecord adds a record to the portion.
func (i *importer) addRecord(r folder.Record) error {
	var m folder.Meta
	var data []byte
	var err error
	if r.ID != 0 {
		if m, err = i.folder.Whole(r.ID); err == nil {
			data, err = i.folder.Body(r.ID)
		}
	}
	var fault *folder.Fault
	switch {
	case errors.Is(err, os.ErrNotExist) || errors.As(err, &fault):
		i.done.Faults++
		i.warn(err)
		return nil
	case err != nil:
		return err
	case wire.IsPageCode(int64(r.Code)) && m.Error == "" && m.Size > m.Head:
		err = i.importPage(r, m, data)
	default:
		i.rows = append(i.rows, i.newURLRow(r, m))
	}
	if err == nil && (i.pages >= portionPages || i.bytes >= portionBytes || len(i.rows) >= portionPages) {
		err = i.storePortion()
	}
	return err
}

// originally begins the names of fields that do not fit the body, which has no coding; package warcimport
// removes it.
const originally = "X-Archive-Orig-"

// importPage writes the records of a page.
func (i *importer) importPage(r folder.Record, m folder.Meta, data []byte) error {
	if i.file == nil {
		if err := i.createFile(); err != nil {
			return err
		}
	}
	head, body := warc.ParseMessage(data)
	for n, f := range head.Fields {
		switch strings.ToLower(f.Name) {
		case "content-encoding", "transfer-encoding":
			head.Fields[n].Name = originally + f.Name
		case "content-length":
			if f.Value != strconv.Itoa(len(body)) {
				head.Fields[n].Name = originally + f.Name
			}
		}
	}
	response := warc.Record{Type: warc.Response, Date: r.Streamed.Time(), TargetURI: warc.URI(r.URL), ContentType: warc.ResponseType, Head: head.Append(nil), Payload: body}
	if _, err := i.out.Write(&response); err != nil {
		return err
	}
	i.pages++
	i.bytes += int64(len(data))
	if m.Millis < 0 {
		return nil
	}
	values := fmt.Sprintf("urlMd5: %s\r\nmilliseconds: %d\r\n", urlkey.Of(r.URL), m.Millis)
	_, err := i.out.Write(&warc.Record{
		Type: warc.Metadata, Date: response.Date, TargetURI: response.TargetURI, ContentType: warc.FieldsType, Payload: []byte(values),
		Fields: warc.Fields{{Name: warc.FieldConcurrent, Value: response.ID}},
	})
	return err
}

// createFile creates the temporary file.
func (i *importer) createFile() (err error) {
	if i.file, err = os.CreateTemp("", "ose-*.warc"); err != nil {
		return fmt.Errorf("collect pages: %w", err)
	}
	i.buffer = bufio.NewWriter(i.file)
	i.out = warc.NewWriter(i.buffer, warc.Options{})
	return nil
}

// removeFile removes the temporary file.
func (i *importer) removeFile() {
	if i.file != nil {
		_ = i.file.Close()           // it is removed
		_ = os.Remove(i.file.Name()) // a file that stays is one of the system's temporary files
		i.file = nil
	}
}

// storePortion stores the portion: the pages, then the other rows.
func (i *importer) storePortion() error {
	if i.file != nil {
		if err := i.buffer.Flush(); err != nil {
			return err
		}
		part, err := warcimport.Run(i.ctx, warcimport.Job{Service: i.service, Site: i.site, Files: []string{i.file.Name()}}, nil)
		i.done.Pages += part.Pages
		i.done.Versions += part.Versions
		i.done.Known += part.Known
		i.done.Faults += part.Faults()
		if err != nil {
			return err
		}
		i.removeFile()
		i.pages, i.bytes = 0, 0
	}
	return i.flushRows()
}

// flushRows stores the rows that the site does not have.
func (i *importer) flushRows() error {
	if len(i.rows) == 0 {
		return nil
	}
	var keys []string
	for _, row := range i.rows {
		keys = append(keys, "'"+row["urlMd5"].(string)+"'")
	}
	known, err := pages.Rows(i.ctx, i.service, i.site.ID, "`URLMd5` IN ("+strings.Join(keys, ",")+")", "", len(keys))
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(i.rows, func(row map[string]any) bool {
		return slices.ContainsFunc(known, func(u wire.URL) bool { return u.URLMd5 == row["urlMd5"] })
	})
	i.rows = nil
	i.done.Known += int64(len(known))
	i.done.Rows += int64(len(fresh))
	if len(fresh) == 0 {
		return nil
	}
	return i.service.Ask(i.ctx, wire.URLNew, fresh, nil)
}

// newURLRow returns the element of URL_NEW for a URL without a page.
func (i *importer) newURLRow(r folder.Record, m folder.Meta) map[string]any {
	key := urlkey.Of(r.URL)
	row := map[string]any{"siteId": i.site.ID, "url": r.URL, "urlMd5": key, "siteSelect": wire.SelectExplicit, "type": wire.TypeRegular}
	roots := i.rootKeys()
	if slices.Contains(roots, key) {
		row["parentMd5"], row["depth"] = "", 0
	} else { // like a link of the root page; without a parent it would be a root URL
		row["parentMd5"], row["depth"] = roots[0], 1
	}
	if r.ID == 0 {
		row["status"], row["state"] = wire.StatusNew, wire.URLEnabled
		return row
	}
	row["status"], row["state"], row["crawled"] = wire.StatusCrawled, wire.URLError, 1
	row["httpCode"], row["errorMask"], row["UDate"] = r.Code, maskOf(r, m), "'"+string(schema.DateOf(r.Streamed.Time()))+"'"
	if m.Millis >= 0 {
		row["crawlingTime"] = m.Millis
	}
	return row
}

// rootKeys returns the keys of the root URLs, at least one.
func (i *importer) rootKeys() (keys []string) {
	for _, u := range i.site.URLs {
		keys = append(keys, urlkey.Of(u.URL.URL))
	}
	if len(keys) == 0 {
		keys = []string{wire.Md5(i.site.ID)} // no page is a root
	}
	return keys
}

// maskText begins the error of a page that an export has written.
const maskText = "errorMask "

// maskOf returns why a URL has no page.
func maskOf(r folder.Record, m folder.Meta) errormask.Mask {
	if text, found := strings.CutPrefix(m.Error, maskText); found {
		digits, _, _ := strings.Cut(text, " ")
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n >= 0 {
			return errormask.Mask(n)
		}
	}
	switch {
	case r.Code == 0 && strings.HasPrefix(m.Error, "robots.txt"):
		return errormask.Robots
	case r.Code == 0:
		return errormask.Connection
	case wire.IsPageCode(int64(r.Code)) && m.Error == "":
		return errormask.Empty
	case wire.IsPageCode(int64(r.Code)):
		return errormask.RawNotStored
	case r.Code/100 == 3:
		return errormask.MaxHTTPRedirects
	}
	return errormask.HTTP
}
