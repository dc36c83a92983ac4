// Package filter decides which fetched files an archive keeps.
//
//	list, err := filter.Open("/srv/archive", []string{"mime", "check"})
//	defer list.Close()
//	keep, err := list.Keep(ctx, meta)
//
// Each name has a configuration file, filter-NAME.ini, in the folder of archive.ini:
//
//	[Filter]
//	type = mime
//	include = text/*, image/png
//	exclude = text/css
//
// The type selects the plug-in: "mime" (see [MIME]) or "program" (see [Program]), which lets a program of
// the user decide. A file is kept if every filter keeps it. A plug-in in Go is a Filter and an entry in
// Types.
package filter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/config"
)

// Filter is a plug-in. One goroutine uses it.
type Filter interface {
	// Keep reports whether a file is kept. After an error nothing is known, and the crawl fails.
	Keep(ctx context.Context, m archive.Meta) (bool, error)
	Close() error
}

// Types are the known plug-ins. Each reads its keys from the section [Filter].
var Types = map[string]func(s *config.Section) (Filter, error){
	"mime":    readMIME,
	"program": readProgram,
}

// List is several filters.
type List struct {
	names   []string
	filters []Filter
}

var filterName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,60}$`)

// Open opens the filters of these names, whose configuration files are in folder. A name that is a type
// needs no file. The caller closes the list.
func Open(folder string, names []string) (*List, error) {
	l := &List{}
	for _, name := range names {
		f, err := openFilter(folder, name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("filter %s: %w", name, err), l.Close())
		}
		l.names, l.filters = append(l.names, name), append(l.filters, f)
	}
	return l, nil
}

func openFilter(folder, name string) (Filter, error) {
	if !filterName.MatchString(name) {
		return nil, errors.New("its name is not 1 to 60 letters, digits, - and _")
	}
	path, err := filepath.Abs(filepath.Join(folder, "filter-"+name+".ini"))
	if err != nil {
		return nil, err
	}
	file, err := config.Load(path)
	if _, missing := os.Stat(path); errors.Is(missing, os.ErrNotExist) {
		if Types[name] == nil {
			return nil, fmt.Errorf("it has no configuration file %s", path)
		}
		file, err = config.Parse(path, nil)
	}
	if err != nil {
		return nil, err
	}
	s := file.Section("Filter")
	known := slices.Sorted(maps.Keys(Types))
	fallback := ""
	if Types[name] != nil {
		fallback = name
	}
	kind := s.Choice("type", fallback, known...)
	if err := file.Err(); err != nil {
		return nil, err
	}
	if kind == "" {
		return nil, fmt.Errorf("%s: the key type is missing; expected one of %v", path, known)
	}
	f, err := Types[kind](s)
	if err == nil {
		err = file.Err()
	}
	if unknown := file.Unknown(); err == nil && len(unknown) > 0 {
		err = errors.New(unknown[0])
	}
	if err != nil && f != nil {
		err = errors.Join(err, f.Close())
	}
	return f, err
}

// Keep reports whether every filter keeps a file.
func (l *List) Keep(ctx context.Context, m archive.Meta) (bool, error) {
	for i, f := range l.filters {
		keep, err := f.Keep(ctx, m)
		if err != nil {
			return false, fmt.Errorf("filter %s: %s: %w", l.names[i], m.URL, err)
		}
		if !keep {
			return false, nil
		}
	}
	return true, nil
}

// Close closes all filters.
func (l *List) Close() error {
	var errs []error
	for _, f := range l.filters {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
