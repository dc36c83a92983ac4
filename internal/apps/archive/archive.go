// Package archive has the terms of the versioned web archive: what is known of a stored file, and
// what a program may do with the archive.
//
//	list, err := store.Query(ctx, archive.Query{Where: "mimeType = 'text/html'", OrderBy: "commitTime DESC"})
//	file, err := store.Open(ctx, list[0], "data.html")
//
// Package repository implements Store on a folder with one git repository for each domain; package
// server offers it to clients, and package client is a Store on the other side of a connection.
package archive

import (
	"context"
	"errors"
	"io"
	"time"
)

// Errors that clients see as such. They are wrapped with the name of the object.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists, and is never overwritten")
	ErrOutdated = errors.New("belongs to a version that a crawl has replaced")
	ErrInvalid  = errors.New("is not valid")
)

// Meta describes one file in one version. URL and CommitTag identify it.
type Meta struct {
	URL        string    `json:"url"`
	MIMEType   string    `json:"mimeType"`
	Title      string    `json:"title"`  // "" without one
	Path       string    `json:"path"`   // folder of the file, relative to the archive, with slashes
	Domain     string    `json:"domain"` // host, with the port if it is not that of the scheme
	CommitTime time.Time `json:"commitTime"`
	CreateTime time.Time `json:"createTime"`
	CommitTag  string    `json:"commitTag"` // domain@commitTime, see Tag
	// KeptFrom is "" if the crawl of this version has fetched the file. Else it could not, the content is
	// older, KeptFrom is the commit tag of the crawl that fetched it, and KeptCause says what failed.
	KeptFrom  string `json:"keptFrom,omitempty"`
	KeptCause string `json:"keptCause,omitempty"`
}

// Query selects versions of files. Where and OrderBy have the names of Meta's JSON as columns, in
// the MySQL dialect; they are parsed and never passed on.
type Query struct {
	Where   string `json:"where"`
	OrderBy string `json:"orderBy"`
	Limit   int    `json:"limit"` // 0: none
}

// File is one file in the folder of a page.
type File struct {
	Name string `json:"name"` // relative to the folder, with slashes
	Size int64  `json:"size"`
}

// Commit is one crawl of a domain.
type Commit struct {
	Number    int64     `json:"number"` // grows with each commit of any domain
	CommitTag string    `json:"commitTag"`
	Time      time.Time `json:"time"`
}

// Writer takes a new file. Close stores it, and fails with ErrExists or ErrOutdated without any
// trace; Abort forgets it.
type Writer interface {
	io.WriteCloser
	Abort() error
}

// Store is an archive. Goroutines may share it. Names are relative paths with slashes that stay in
// the folder of the page.
type Store interface {
	// Query returns the versions that match, all unless q has a limit.
	Query(ctx context.Context, q Query) ([]Meta, error)
	// Each calls do with each of them, and holds none in memory. An error of do ends it.
	Each(ctx context.Context, q Query, do func(Meta) error) error
	// List returns the files of a version, sorted by name.
	List(ctx context.Context, m Meta) ([]File, error)
	// Open reads a file of a version.
	Open(ctx context.Context, m Meta, name string) (io.ReadCloser, error)
	// Create adds a file to the current version of a page.
	Create(ctx context.Context, m Meta, name string) (Writer, error)
	// Tag returns the node with that name below the data node of data.xml, as XML.
	Tag(ctx context.Context, m Meta, name string) (string, error)
	// SetTag adds a node to data.xml of the current version: name, with content as XML inside.
	SetTag(ctx context.Context, m Meta, name, content string) error
	// Commits returns at most limit commits with a number above after, the oldest first.
	Commits(ctx context.Context, after int64, limit int) ([]Commit, error)
}

// Zone is the zone of all times in texts of the archive: CET the whole year, as its specification says.
var Zone = time.FixedZone("CET", 3600)

// TimeFormat is the layout of times in texts of the archive.
const TimeFormat = "2006-01-02T15:04:05"

// Tag returns the commit tag of a crawl of domain that began at start.
func Tag(domain string, start time.Time) string {
	return domain + "@" + start.In(Zone).Format(TimeFormat)
}
