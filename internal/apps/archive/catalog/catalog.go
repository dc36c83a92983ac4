// Package catalog is the database of all versions of all pages in an archive: one SQLite file, whose
// statements are the files of sql/archive.
//
//	c, err := catalog.Open("archive.db")
//	err = c.Add(ctx, catalog.Commit{Number: 7, Domain: "example.org", CommitTag: tag, Time: at, Pages: list})
//	list, err := c.Query(ctx, archive.Query{Where: "mimeType LIKE 'image/%'", OrderBy: "commitTime DESC"})
//
// Conditions of clients pass through package expr and are never run as they are. The catalog holds
// nothing that data.xml and git do not hold: package repository can build it again with Replace.
// Goroutines and processes may share the file; reads run on connections that cannot write.
package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	sqltext "hce/dc/sql"
)

const (
	// mostCommits is the most commits that Commits returns at once.
	mostCommits = 10_000
	// queryTime is the most time from one row of a query to the next.
	queryTime = 30 * time.Second
	readers   = 4
	// layout is the form of times in the database: that of package expr.
	layout = "2006-01-02 15:04:05"
)

// Commit is one crawl of a domain with its pages.
type Commit struct {
	Number    int64
	CommitTag string
	Domain    string
	Time      time.Time
	Pages     []archive.Meta
}

// Catalog is an open database.
type Catalog struct {
	write, read *sql.DB
	path        string
}

// Open opens or creates the file. The folder must exist. Damaged reports true for the error of a file
// that is no database.
func Open(path string) (*Catalog, error) {
	write, err := sqldb.OpenFile(path, sqldb.FileOptions{PageSums: true})
	if err != nil {
		return nil, err
	}
	create, err := sqltext.Archive.ReadFile("archive/create.sql")
	if err == nil {
		_, err = write.Exec(string(create))
	}
	if err == nil {
		err = addColumns(write)
	}
	if err != nil {
		write.Close()
		return nil, fmt.Errorf("open %s: %w", path, explainForeign(sqldb.NameFull(err, path)))
	}
	read, err := sqldb.OpenFile(path, sqldb.FileOptions{ReadOnly: true})
	if err != nil {
		write.Close()
		return nil, err
	}
	read.SetMaxOpenConns(0) // a slow reader of a query delays no other
	read.SetMaxIdleConns(readers)
	return &Catalog{write, read, path}, nil
}

// addColumns adds columns that the database of an earlier program does not have.
func addColumns(db *sql.DB) error {
	if _, err := db.Exec(statementText("columns")); err == nil {
		return nil
	}
	for _, name := range []string{"keptFrom", "keptCause"} {
		if _, err := db.Exec("ALTER TABLE pages ADD COLUMN " + name + " TEXT NOT NULL DEFAULT ''"); err != nil && !strings.Contains(err.Error(), "duplicate column") {
			return err
		}
	}
	return nil
}

// Damaged reports whether err means that the file is no database of an archive, or no whole one.
func Damaged(err error) bool { return sqldb.Damaged(err) }

// Check reads the whole file. The error means that it is damaged inside.
func (c *Catalog) Check(ctx context.Context) error {
	var found string
	err := c.read.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found)
	if err == nil && found != "ok" {
		err = fmt.Errorf("%w: %s", sqldb.ErrDamaged, strings.Join(strings.Fields(found), " "))
	}
	if err == nil {
		var all *sql.Stmt
		if all, err = c.read.PrepareContext(ctx, statementText("dump")); err == nil {
			return all.Close()
		}
		err = explainForeign(err)
	}
	return wrapFault("check the database", err)
}

// explainForeign adds to the error of a statement of our own that the tables are other ones.
func explainForeign(err error) error {
	if sqldb.Critical(err) || sqldb.Passing(err) {
		return err
	}
	return fmt.Errorf("%w: %w", sqldb.ErrDamaged, err)
}

// wrapFault names the operation that failed, and how to mend a damaged database.
func wrapFault(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case Damaged(err):
		return fmt.Errorf("%s: %w; it is damaged, build it again with archive db recover", operation, err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// Close closes the database.
func (c *Catalog) Close() error { return errors.Join(c.read.Close(), c.write.Close()) }

// statementText returns a statement of sql/archive without its comment.
func statementText(name string) string {
	raw, err := sqltext.Archive.ReadFile("archive/" + name + ".sql")
	if err != nil {
		panic(err) // a test calls every statement
	}
	var lines []string
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}

// Add stores a commit in one transaction. A commit that is there stays as it is.
func (c *Catalog) Add(ctx context.Context, commit Commit) error {
	err := c.changeInTx(ctx, func(tx *sql.Tx) error {
		var n, at any
		err := tx.QueryRowContext(ctx, statementText("commit_number"), commit.Number).Scan(&n, new(string), &at)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return addCommit(ctx, tx, commit)
	})
	return wrapFault("store commit "+commit.CommitTag+" in the database", err)
}

// Replace stores these commits in place of all others, in one transaction. each calls its argument
// with every commit.
func (c *Catalog) Replace(ctx context.Context, each func(add func(Commit) error) error) error {
	err := c.changeInTx(ctx, func(tx *sql.Tx) error {
		for _, name := range []string{"pages_remove", "commits_remove"} {
			if _, err := tx.ExecContext(ctx, statementText(name)); err != nil {
				return err
			}
		}
		return each(func(commit Commit) error { return addCommit(ctx, tx, commit) })
	})
	return wrapFault("build the database again", err)
}

func (c *Catalog) changeInTx(ctx context.Context, do func(tx *sql.Tx) error) (err error) {
	defer func() { err = sqldb.NameFull(err, c.path) }()
	tx, err := c.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func addCommit(ctx context.Context, tx *sql.Tx, commit Commit) error {
	if _, err := tx.ExecContext(ctx, statementText("commit_add"), commit.Number, commit.CommitTag, commit.Domain, formatTime(commit.Time)); err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, statementText("page_add"))
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, m := range commit.Pages {
		if _, err := insert.ExecContext(ctx, commit.Number, m.URL, m.MIMEType, m.Title, m.Path, m.Domain, formatTime(m.CommitTime), formatTime(m.CreateTime), m.CommitTag, m.KeptFrom, m.KeptCause); err != nil {
			return fmt.Errorf("page %s: %w", m.URL, err)
		}
	}
	return nil
}

func formatTime(t time.Time) string { return t.In(archive.Zone).Format(layout) }

// conditionScope is what conditions of clients may name. Times are CET, and so is NOW().
func conditionScope(now time.Time) expr.Scope {
	return expr.Scope{
		Dialect: expr.SQLite, Now: now.UTC().Add(time.Hour),
		Table: expr.Table{Name: "pages", Columns: map[string]expr.Kind{
			"url": expr.Key, "mimeType": expr.Text, "title": expr.Text, "path": expr.Key, "domain": expr.Key,
			"commitTime": expr.Time, "createTime": expr.Time, "commitTag": expr.Key, "keptFrom": expr.Key, "keptCause": expr.Text,
		}},
	}
}

// Query returns the versions that match. See Each.
func (c *Catalog) Query(ctx context.Context, q archive.Query) ([]archive.Meta, error) {
	list := []archive.Meta{}
	err := c.Each(ctx, q, func(m archive.Meta) error {
		list = append(list, m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Each calls do with every version that matches, at most q.Limit if that is not 0. The versions are of one
// moment, and do may take its time. The error wraps archive.ErrInvalid for a condition that is not
// supported.
func (c *Catalog) Each(ctx context.Context, q archive.Query, do func(archive.Meta) error) error {
	statement, args, err := compileQuery(q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Only the time that the database needs counts.
	late := time.AfterFunc(queryTime, func() { cancel(fmt.Errorf("the query %w: it takes more than %s", archive.ErrInvalid, queryTime)) })
	defer late.Stop()
	failed := func(err error) error {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return wrapFault("query the database", err)
	}
	rows, err := c.read.QueryContext(ctx, statement, args...)
	if err != nil {
		return failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		m, err := scanMeta(rows.Scan)
		if err != nil {
			return failed(err)
		}
		late.Stop()
		if err := do(m); err != nil {
			return err
		}
		late.Reset(queryTime)
	}
	if err := rows.Err(); err != nil {
		return failed(err)
	}
	return nil
}

// compileQuery returns the statement of a query.
func compileQuery(q archive.Query) (statement string, args []any, err error) {
	limit := q.Limit
	switch {
	case limit < 0:
		return "", nil, fmt.Errorf("limit %d %w: it is below 0", limit, archive.ErrInvalid)
	case limit == 0:
		limit = -1 // none
	}
	names := conditionScope(time.Now())
	where, err := names.Where(q.Where)
	if err != nil {
		return "", nil, fmt.Errorf("condition %w: %w", archive.ErrInvalid, err)
	}
	order, err := names.OrderBy(q.OrderBy)
	if err != nil {
		return "", nil, fmt.Errorf("order %w: %w", archive.ErrInvalid, err)
	}
	if where.Text == "" {
		where.Text = "1"
	}
	if order.Text != "" {
		order.Text += ","
	}
	statement = strings.NewReplacer("{condition}", where.Text, "{order}", order.Text).Replace(statementText("pages_query"))
	return statement, append(append(where.Args, order.Args...), limit), nil
}

func scanMeta(scan func(...any) error) (m archive.Meta, err error) {
	var committed, created string
	if err := scan(&m.URL, &m.MIMEType, &m.Title, &m.Path, &m.Domain, &committed, &created, &m.CommitTag, &m.KeptFrom, &m.KeptCause); err != nil {
		return m, err
	}
	if m.CommitTime, err = time.ParseInLocation(layout, committed, archive.Zone); err == nil {
		m.CreateTime, err = time.ParseInLocation(layout, created, archive.Zone)
	}
	return m, err
}

// Page returns the version of a URL. The error wraps archive.ErrNotFound without one.
func (c *Catalog) Page(ctx context.Context, url, commitTag string) (archive.Meta, error) {
	m, err := scanMeta(c.read.QueryRowContext(ctx, statementText("page_one"), url, commitTag).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = archive.ErrNotFound
	}
	if err != nil {
		return m, wrapFault(fmt.Sprintf("version %.300s of %.4096s", commitTag, url), err)
	}
	return m, nil
}

// Commits returns at most limit commits with a number above after, the oldest first.
func (c *Catalog) Commits(ctx context.Context, after int64, limit int) ([]archive.Commit, error) {
	if limit <= 0 || limit > mostCommits {
		limit = mostCommits
	}
	rows, err := c.read.QueryContext(ctx, statementText("commits_after"), after, limit)
	if err != nil {
		return nil, wrapFault("list commits", err)
	}
	defer rows.Close()
	list := []archive.Commit{}
	for rows.Next() {
		commit, err := scanCommit(rows.Scan)
		if err != nil {
			return nil, wrapFault("list commits", err)
		}
		list = append(list, commit)
	}
	return list, wrapFault("list commits", rows.Err())
}

func scanCommit(scan func(...any) error) (c archive.Commit, err error) {
	var at string
	if err := scan(&c.Number, &c.CommitTag, &at); err != nil {
		return c, err
	}
	c.Time, err = time.ParseInLocation(layout, at, archive.Zone)
	return c, err
}

// Newest returns the newest commit of a domain; found is false without one.
func (c *Catalog) Newest(ctx context.Context, domain string) (commit archive.Commit, found bool, err error) {
	return scanOne(c.read.QueryRowContext(ctx, statementText("commit_newest"), domain))
}

// Has reports whether a commit with that number is stored.
func (c *Catalog) Has(ctx context.Context, number int64) (bool, error) {
	_, found, err := scanOne(c.read.QueryRowContext(ctx, statementText("commit_number"), number))
	return found, err
}

func scanOne(row *sql.Row) (archive.Commit, bool, error) {
	commit, err := scanCommit(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return commit, false, nil
	}
	return commit, err == nil, wrapFault("read the database", err)
}

// Last returns the largest number of a commit, 0 without one, and how many commits there are.
func (c *Catalog) Last(ctx context.Context) (number, commits int64, err error) {
	err = c.read.QueryRowContext(ctx, statementText("commits_last")).Scan(&number, &commits)
	return number, commits, wrapFault("read the database", err)
}

// EachCommit calls do with every commit and its pages, in the order of numbers and URLs.
func (c *Catalog) EachCommit(ctx context.Context, do func(Commit) error) error {
	rows, err := c.read.QueryContext(ctx, statementText("dump"))
	if err != nil {
		return wrapFault("read the database", err)
	}
	defer rows.Close()
	var now Commit
	for rows.Next() {
		next, page, err := scanDump(rows)
		if err != nil {
			return wrapFault("read the database", err)
		}
		if next.Number != now.Number {
			if now.Number != 0 {
				if err := do(now); err != nil {
					return err
				}
			}
			now = next
		}
		if page != nil {
			now.Pages = append(now.Pages, *page)
		}
	}
	if err := rows.Err(); err != nil {
		return wrapFault("read the database", err)
	}
	if now.Number != 0 {
		return do(now)
	}
	return nil
}

// scanDump reads one row of a commit; page is nil for a commit without pages.
func scanDump(rows *sql.Rows) (c Commit, page *archive.Meta, err error) {
	var columns [10]sql.NullString
	var at string
	targets := []any{&c.Number, &c.Domain}
	for i := range columns {
		targets = append(targets, &columns[i])
	}
	if err := rows.Scan(append(targets, &c.CommitTag, &at)...); err != nil {
		return c, nil, err
	}
	if c.Time, err = time.ParseInLocation(layout, at, archive.Zone); err != nil || !columns[0].Valid {
		return c, nil, err
	}
	m, err := scanMeta(func(to ...any) error {
		for i := range to {
			*to[i].(*string) = columns[i].String
		}
		return nil
	})
	return c, &m, err
}
