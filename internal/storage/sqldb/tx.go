package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"hce/dc/internal/storage/expr"
)

// Tx is a transaction. It is used by one goroutine, within the function that it
// was given to.
type Tx struct {
	DB   *DB
	ctx  context.Context
	conn *sql.Conn
	site string // whose tables named statements mean, or ""
	mark *marks // what is to be done after the commit
}

type marks struct {
	drops  bool
	strays bool // a statement from outside may have changed the connection (Any)
}

// Of is the same transaction, in which named statements mean the tables of a
// site. Its id must be checked.
func (t *Tx) Of(site string) *Tx {
	c := *t
	c.site = site
	return &c
}

// ErrClosed is the error of a transaction on a closed DB.
var ErrClosed = errors.New("the database is closed")

// View runs read in a transaction that sees one state of the database and
// changes nothing: a statement that writes fails. Its error is the result. Read
// may run several times, when the server was away or a table came or went: it
// begins with its results empty.
func (d *DB) View(ctx context.Context, read func(*Tx) error) error {
	var err error
	for try := 0; try < 3; try++ {
		if err = d.view(ctx, read); err == nil || !moved(err) && !unreachable(err) || ctx.Err() != nil {
			break
		}
	}
	return err
}

func (d *DB) view(ctx context.Context, read func(*Tx) error) error {
	conn, err := d.readers.Conn(ctx)
	if err != nil {
		return fmt.Errorf("db.View: %w", d.away(err))
	}
	defer conn.Close()
	begin := "BEGIN"
	if d.dialect == expr.MySQL {
		begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
	}
	whole := context.WithoutCancel(ctx)
	if _, err := conn.ExecContext(whole, begin); err != nil {
		return fmt.Errorf("db.View: %w", d.away(err))
	}
	defer conn.ExecContext(whole, "ROLLBACK")
	return d.away(read(&Tx{DB: d, ctx: ctx, conn: conn, mark: &marks{}}))
}

// Update runs change in a transaction that holds the write lock from its begin,
// and commits it when change returns nil; otherwise nothing is changed. It waits
// for other writers, within the process by turn, of other processes up to
// Config.Busy, then fails with an error that answers to Busy.
//
// On MySQL transactions run side by side, and lock rows. Change may run several
// times, when it has to yield: it begins with its results empty.
func (d *DB) Update(ctx context.Context, change func(*Tx) error) (err error) {
	if d.dialect == expr.MySQL {
		return d.updateMySQL(ctx, change)
	}
	var conn *sql.Conn
	var open bool
	select {
	case conn, open = <-d.writer:
		if !open {
			return fmt.Errorf("db.Update: %w", ErrClosed)
		}
	case <-ctx.Done():
		return fmt.Errorf("db.Update: %w", ctx.Err())
	}
	defer func() { d.writer <- conn }()
	if conn == nil {
		if conn, err = d.writers.Conn(ctx); err != nil {
			return fmt.Errorf("db.Update: %w", err)
		}
	}
	if err := d.begin(ctx, conn); err != nil {
		return fmt.Errorf("db.Update: %w", err)
	}
	whole := context.WithoutCancel(ctx)
	done := false
	defer func() {
		if done {
			return
		}
		// Also after a panic of change. SQLite rolls back by itself when the disk
		// is full; then, or when it cannot, the connection is not trusted again.
		if _, e := conn.ExecContext(whole, "ROLLBACK"); e != nil {
			conn.Raw(func(any) error { return driver.ErrBadConn })
			conn.Close()
			conn = nil
		}
	}()
	if err := change(&Tx{DB: d, ctx: ctx, conn: conn, mark: &marks{}}); err != nil {
		return err
	}
	if _, err := conn.ExecContext(whole, "COMMIT"); err != nil {
		return fmt.Errorf("db.Update: commit: %w", err)
	}
	done = true
	return nil
}

// begin takes the write lock. SQLite's own waiting cannot be cancelled, so each
// try is short; the pauses between tries are uneven, lest two processes meet
// again and again.
func (d *DB) begin(ctx context.Context, conn *sql.Conn) error {
	deadline := time.Now().Add(d.cfg.Busy)
	for {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "BEGIN IMMEDIATE")
		if err == nil || !Busy(err) || time.Now().After(deadline) {
			return err
		}
		if err := sleep(ctx, time.Duration(1+rand.IntN(5))*time.Millisecond); err != nil {
			return err
		}
	}
}

// Settle makes the transaction write, though it changes no row. Who was killed in
// the middle of a commit leaves it in doubt on SQLite: the log holds it, the index of
// the log does not, so nobody sees it; and when the index is made anew, after
// another death or by the first who opens the file, it is there after all. A commit
// that writes takes its place in the log. So what is not seen within a transaction
// that settles will never be.
func (t *Tx) Settle() error {
	if t.DB.dialect == expr.MySQL {
		return nil // the server ends each commit, or undoes it
	}
	var n int32
	if _, err := t.Row("PRAGMA user_version", nil, &n); err != nil { // a number of 32 bits that nobody else uses
		return err
	}
	_, err := t.Exec(fmt.Sprintf("PRAGMA user_version = %d", n&(1<<30-1)+1))
	return err
}

// Exec runs one statement and tells how many rows it changed. It looks at the
// context before, not during: a condition from outside belongs into Each,
// which a cancelled context interrupts.
func (t *Tx) Exec(text string, args ...any) (changed int64, err error) {
	if err := t.ctx.Err(); err != nil {
		return 0, err
	}
	r, err := t.conn.ExecContext(context.WithoutCancel(t.ctx), text, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// Insert is Exec for an INSERT of one row; it gives the row's number. Inserted is
// false when a row with one of its keys is there, which stays.
func (t *Tx) Insert(text string, args ...any) (rowid int64, inserted bool, err error) {
	if err := t.ctx.Err(); err != nil {
		return 0, false, err
	}
	r, err := t.conn.ExecContext(context.WithoutCancel(t.ctx), text, args...)
	if duplicate(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	rowid, err = r.LastInsertId()
	return rowid, true, err
}

// Each calls row for every row of a query, with the scan function of that row,
// until it returns an error. A cancelled context interrupts the query.
func (t *Tx) Each(text string, args []any, row func(scan func(...any) error) error) error {
	defer t.DB.interrupted(t.ctx, t.conn)()
	rows, err := t.conn.QueryContext(t.ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Row scans the first row of a query; found is false when there is none.
func (t *Tx) Row(text string, args []any, into ...any) (found bool, err error) {
	err = t.conn.QueryRowContext(context.WithoutCancel(t.ctx), text, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Do runs the named statement.
func (t *Tx) Do(name string, args ...any) (changed int64, err error) {
	text, err := t.DB.Text(name, t.site)
	if err != nil {
		return 0, err
	}
	if changed, err = t.Exec(text, args...); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return changed, nil
}

// Get scans the first row of the named query.
func (t *Tx) Get(name string, args []any, into ...any) (found bool, err error) {
	text, err := t.DB.Text(name, t.site)
	if err != nil {
		return false, err
	}
	if found, err = t.Row(text, args, into...); err != nil {
		return false, fmt.Errorf("%s: %w", name, err)
	}
	return found, nil
}

// All is Each of the named query.
func (t *Tx) All(name string, args []any, row func(scan func(...any) error) error) error {
	text, err := t.DB.Text(name, t.site)
	if err != nil {
		return err
	}
	if err := t.Each(text, args, row); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Try runs part, and takes back what it changed when it returns an error, which
// is the result. The transaction goes on.
func (t *Tx) Try(part func() error) error {
	if _, err := t.Exec("SAVEPOINT part"); err != nil {
		return err
	}
	err := part()
	whole := context.WithoutCancel(t.ctx)
	if err != nil {
		if _, e := t.conn.ExecContext(whole, "ROLLBACK TO SAVEPOINT part"); e != nil {
			return errors.Join(err, e)
		}
	}
	if _, e := t.conn.ExecContext(whole, "RELEASE SAVEPOINT part"); e != nil {
		return errors.Join(err, e)
	}
	return err
}
