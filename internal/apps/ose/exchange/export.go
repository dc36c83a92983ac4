package exchange

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/service"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
	"hce/dc/warc"
)

// Exported counts what an export has written.
type Exported struct {
	URLs    int64 `json:"urls"`
	Pages   int64 `json:"pages"`             // with a body
	Skipped int64 `json:"skipped"`           // rows whose URL is not canonical, or that another row has
	Damaged int64 `json:"damaged,omitempty"` // pages whose stored content is damaged: they are left out
}

// batchFiles is the number of files that are made durable together.
const batchFiles = 512

// Export writes the folder of a site into a new or an empty folder. The state is written last: a folder
// that an interrupted export leaves is no target, and is not continued. damaged is told of each page whose stored
// content is damaged.
func Export(ctx context.Context, service service.Service, site wire.Site, dir string, damaged func(url string, err error)) (done Exported, err error) {
	f, err := folder.New(dir)
	if err != nil {
		return done, err
	}
	list, err := f.OpenFile(folder.URLsName, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return done, err
	}
	defer list.Close()
	e := &exporter{folder: f, batch: f.NewBatch(), list: bufio.NewWriter(list), done: &done, keys: map[folder.Key]bool{}}
	first := urlkey.Of(rootOf(site))
	for _, where := range []string{"`URLMd5` = '" + first + "'", "`URLMd5` <> '" + first + "'"} {
		reader := pages.Reader{Service: service, Site: site.ID, Where: where, Needs: pages.Raw | pages.Headers, Damaged: func(row *wire.URL, err error) {
			e.done.Damaged++
			damaged(row.URL, err)
		}}
		if err := reader.Read(ctx, "", e.exportPage, nil); err != nil {
			return done, err
		}
	}
	if err := errors.Join(e.batch.Sync(), e.list.Flush()); err != nil {
		return done, err
	}
	if err := list.Sync(); err != nil {
		return done, err
	}
	return done, f.SetStatus(folder.Status{State: folder.Fetched, LastID: e.last})
}

// rootOf returns the first root URL of a site, "" without one.
func rootOf(site wire.Site) string {
	if len(site.URLs) == 0 {
		return ""
	}
	return site.URLs[0].URL.URL
}

// exporter writes the pages of a site.
type exporter struct {
	folder *folder.Folder
	batch  *folder.Batch
	list   *bufio.Writer
	done   *Exported
	keys   map[folder.Key]bool
	last   folder.ID
}

// exportPage writes the record of a row, and its files if it was fetched.
func (e *exporter) exportPage(p *pages.Page) error {
	url, err := canonical.Canonical(p.URL.URL)
	url = strings.TrimSuffix(url, "#")
	if key := folder.KeyOf(url); err != nil || e.keys[key] {
		e.done.Skipped++
		return nil
	} else {
		e.keys[key] = true
	}
	e.done.URLs++
	record := folder.Record{URL: url}
	if p.Crawled > 0 || p.Raw != nil || p.HTTPCode != 0 {
		if record, err = e.writeFetched(url, p); err != nil {
			return err
		}
	}
	_, err = e.list.Write(record.Append(nil))
	return err
}

// writeFetched writes the files of a page.
func (e *exporter) writeFetched(url string, p *pages.Page) (folder.Record, error) {
	e.last++
	out := folder.Page{ID: e.last, Meta: folder.Meta{URL: url, Code: int(p.HTTPCode), Streamed: fetchTime(p), Millis: p.CrawlingTime}}
	if len(p.Raw) > 0 {
		e.done.Pages++
		if !wire.IsPageCode(int64(out.Code)) {
			out.Code = 200 // a later fetch had that code, and brought no body
		}
		out.Data = append(pageHead(out.Code, p.Headers), p.Raw...)
	} else {
		if out.Code < 0 || out.Code > 999 {
			out.Code = 0
		}
		if out.Code != 0 {
			out.Data = pageHead(out.Code, nil)
		}
		out.Error = folder.OneLine(fmt.Sprint(maskText, int64(p.ErrorMask), " ", strings.Join(p.ErrorMask.Names(), " ")))
	}
	out.Head = int64(len(out.Data) - len(p.Raw))
	err := e.batch.WritePage(out)
	if err == nil && e.batch.Len() >= batchFiles {
		err = e.batch.Sync()
	}
	return folder.Record{ID: out.ID, Code: out.Code, Streamed: out.Streamed, URL: url}, err
}

// pageHead returns the head of a page with the stored fields.
func pageHead(code int, fields []byte) []byte {
	m, _ := warc.ParseMessage(fields)
	m.Start = fmt.Sprintf("HTTP/1.1 %03d ", code)
	for i, f := range m.Fields {
		m.Fields[i].Value = strings.ToValidUTF8(f.Value, "\uFFFD")
	}
	return m.Append(nil)
}

// fetchTime returns when a page was fetched, in whole seconds, which the cluster keeps.
func fetchTime(p *pages.Page) folder.Stamp {
	for _, date := range []schema.Date{p.Stored, p.UDate, p.CDate} {
		if at, ok := date.Time(); ok && at.Unix() > 0 {
			return folder.StampOf(at.Truncate(time.Second))
		}
	}
	return folder.StampOf(time.Unix(1, 0)) // not known
}
