package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"hce/dc/internal/files"
	"hce/dc/internal/process/template"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
)

// TemplateAnswer is what a source has for a page.
type TemplateAnswer struct {
	Source string // for messages: its number, and its name if it has one
	Name   string // of its template
	Due    bool   // its schedule asks for it
	Text   string // for Set.Merge; "" if it is not due, or with Err
	Err    error  // names the source and the cause
}

// Templates reads the sources that are due for a page. It returns one answer for each source, in order.
func (b *Batch) Templates(ctx context.Context, p *Page, sources []template.Source) []TemplateAnswer {
	answers := make([]TemplateAnswer, len(sources))
	for i := range sources {
		s, a := &sources[i], &answers[i]
		a.Source, a.Name = fmt.Sprintf("source %d", i+1), s.Name
		if s.Name != "" {
			a.Source += fmt.Sprintf(" (%.80q)", s.Name)
		}
		err := ctx.Err()
		if err == nil {
			a.Due, err = b.isDue(ctx, p, s)
		}
		if err == nil && a.Due {
			a.Text, err = b.readSource(ctx, p, s)
		}
		if err != nil {
			a.Err = fmt.Errorf("property TEMPLATE_SOURCE, %s, %s %q: %w", a.Source, s.Kind, prop.Clip(s.Request), err)
		}
	}
	return answers
}

// isDue reports whether the schedule of a source asks for it. A schedule with a state is asked once
// for a batch, and counts as used before the source is read: a kill does not repeat it. A trial writes
// nothing.
func (b *Batch) isDue(ctx context.Context, p *Page, s *template.Source) (bool, error) {
	if !s.Remembers() {
		return s.Due(b.Now().UTC(), p.Root, time.Time{}), nil
	}
	name := s.State()
	if name == "" {
		name = s.Kind + " " + s.Request
	}
	key := digestOf(p.Site, name, s.Name, s.Kind, s.Request)
	b.mu.Lock()
	defer b.mu.Unlock()
	if due, known := b.due[key]; known {
		return due, nil
	}
	path := filepath.Join(b.Config.StateDir, digestOf(p.Site, name)+".json")
	var due bool
	var err error
	if b.trial {
		var used time.Time
		used, err = b.lastUse(path)
		due = s.Due(b.Now().UTC(), p.Root, used)
	} else {
		due, err = b.recordUse(ctx, path, s, p.Root)
	}
	if err == nil {
		b.due[key] = due
	}
	return due, err
}

// recordUse reads when a source was last used, and writes that it is used now if it is due.
func (b *Batch) recordUse(ctx context.Context, path string, s *template.Source, root bool) (bool, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return false, err
	}
	unlock, err := files.Lock(ctx, path+".lock")
	if err != nil {
		return false, err
	}
	defer unlock()
	last, err := b.lastUse(path)
	if err != nil {
		return false, err
	}
	now := b.Now().UTC()
	if !s.Due(now, root, last) {
		return false, nil
	}
	text, err := json.Marshal(use{now})
	if err != nil {
		return false, err
	}
	return true, files.Write(path, text, 0o640)
}

// use is the file of a schedule.
type use struct {
	Used time.Time `json:"used"` // UTC
}

// lastUse reads when a source was last used; zero for never.
func (b *Batch) lastUse(path string) (time.Time, error) {
	var state use
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return state.Used, nil
	}
	if err == nil {
		if broken := json.Unmarshal(text, &state); broken != nil {
			b.Log.Warn("state of a template source is broken and counts as unused", "file", path, "error", broken)
		}
	}
	return state.Used, err
}

// readSource returns the text of a source.
func (b *Batch) readSource(ctx context.Context, p *Page, s *template.Source) (string, error) {
	if s.Kind == template.SourceFile {
		key := digestOf("file", s.Request)
		return b.templates.getOrAsk(ctx, key, b.Now, b.Config.KeepTime, func() (string, error) { return b.readFile(s.Request) })
	}
	if b.Web == nil {
		return "", errors.New("this program sends no requests")
	}
	r := Request{URL: s.Request, Method: methodGet, Header: s.Headers, MaxBytes: b.Config.MaxTemplate, Access: p.Access}
	r.Access.Robots = false // the site asks for this URL
	if s.Post != "" {
		r.Method, r.Body = methodPost, s.Body(p.URL, string(p.Text))
	}
	parts := []string{"http", p.Site, r.URL, r.Body, fmt.Sprint(r.Access)}
	for _, h := range r.Header {
		parts = append(parts, h.Name, h.Value)
	}
	return b.templates.getOrAsk(ctx, digestOf(parts...), b.Now, b.Config.KeepTime, func() (string, error) {
		a, err := b.Web.Get(ctx, r)
		switch {
		case err != nil:
			return "", err
		case !wire.IsPageCode(int64(a.Code)):
			return "", fmt.Errorf("the answer of %s has status %d; expected a page: 200 to 203 or 300", a.URL, a.Code)
		case len(strings.TrimSpace(string(a.Body))) == 0:
			return "", fmt.Errorf("the answer of %s is empty", a.URL)
		}
		return string(a.Body), nil
	})
}

// readFile reads a file below TemplateDir. Links do not lead out of it, and a pipe does not block.
func (b *Batch) readFile(name string) (string, error) {
	if b.Config.TemplateDir == "" {
		return "", errors.New("files are not read; set template_dir in processor-task.ini to their folder")
	}
	name = filepath.FromSlash(name)
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("the path has to be relative to template_dir (%s) and must not contain \"..\"", b.Config.TemplateDir)
	}
	root, err := os.OpenRoot(b.Config.TemplateDir)
	if err != nil {
		return "", fmt.Errorf("template_dir: %w", err)
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	text, err := io.ReadAll(io.LimitReader(file, b.Config.MaxTemplate+1))
	switch {
	case err != nil:
		return "", err
	case int64(len(text)) > b.Config.MaxTemplate:
		return "", fmt.Errorf("it has more than %d bytes (max_template_size)", b.Config.MaxTemplate)
	case len(strings.TrimSpace(string(text))) == 0:
		return "", errors.New("it is empty")
	}
	return string(text), nil
}

// digestOf names texts.
func digestOf(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d %s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
