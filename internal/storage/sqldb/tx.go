package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"hce/dc/internal/storage/expr"
)

// Tx is a transaction. Only one goroutine may use it, and only within the function that
// received it.
type Tx struct {
	DB   *DB
	ctx  context.Context
	conn *sql.Conn
	site string // site of named statements, or ""
	mark *marks // work after the commit
}

type marks struct {
	drops  bool // tables to drop are recorded
	strays bool // a client statement may have changed the connection (Any)
}

func (d *DB) newTx(ctx context.Context, conn *sql.Conn) *Tx {
	d.counts.transactions.Add(1)
	return &Tx{DB: d, ctx: ctx, conn: conn, mark: &marks{}}
}

// Of returns the same transaction with named statements for the tables of a site. The
// caller must check the id of the site.
func (t *Tx) Of(site string) *Tx {
	c := *t
	c.site = site
	return &c
}

// ErrClosed is the error of a transaction on a closed DB.
var ErrClosed = errors.New("the database is closed")

// View runs read in a read-only transaction with one snapshot of the database, and returns
// its error. A statement that writes fails. View may run read several times after a lost
// connection or a changed table, so read must reset its results first.
func (d *DB) View(ctx context.Context, read func(*Tx) error) error {
	var err error
	for try := 0; try < 3; try++ {
		if err = d.runReadTx(ctx, read); err == nil || !tableChanged(err) && !isUnreachable(err) || ctx.Err() != nil {
			break
		}
	}
	if err != nil && ctx.Err() != nil && isUnreachable(err) { // the end of ctx closed the connection
		err = fmt.Errorf("read transaction: %w", ctx.Err())
	}
	return d.nameFile(err)
}

// nameFile adds the file to an error that says that it is unusable. Another error, and nil, is returned unchanged.
func (d *DB) nameFile(err error) error {
	if err == nil || d.dialect == expr.MySQL || !Critical(err) {
		return err
	}
	return fmt.Errorf("database %s: %w", d.cfg.Path, NameFull(err, d.cfg.Path))
}

func (d *DB) runReadTx(ctx context.Context, read func(*Tx) error) error {
	conn, err := d.readers.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect for a read transaction: %w", d.convertAwayError(err))
	}
	defer conn.Close()
	begin := "BEGIN"
	if d.dialect == expr.MySQL {
		begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
	}
	whole := context.WithoutCancel(ctx)
	if _, err := conn.ExecContext(whole, begin); err != nil {
		return fmt.Errorf("begin read transaction: %w", d.convertAwayError(err))
	}
	defer conn.ExecContext(whole, "ROLLBACK")
	return d.convertAwayError(read(d.newTx(ctx, conn)))
}

// Update runs change in a write transaction and commits it if change returns nil. Otherwise
// it changes nothing. On SQLite the transaction holds the write lock from its start. Update
// waits for its turn in the process and up to Config.Busy for other processes; then Busy
// reports true for its error.
//
// On MySQL transactions run in parallel and lock rows. Update may run change several times
// after a conflict, so change must reset its results first.
func (d *DB) Update(ctx context.Context, change func(*Tx) error) (err error) {
	if d.dialect == expr.MySQL {
		return d.updateMySQL(ctx, change)
	}
	defer func() { err = d.nameFile(err) }()
	conn, err := d.takeWriter(ctx)
	if err != nil {
		return err
	}
	defer func() { d.writer <- conn }()
	if err := d.beginWrite(ctx, conn); err != nil {
		return fmt.Errorf("begin write transaction: %w", err)
	}
	whole := context.WithoutCancel(ctx)
	done := false
	defer func() {
		if done {
			return
		}
		// This also runs after a panic of change. If ROLLBACK fails, for example
		// because SQLite rolled back on a full disk, replace the connection.
		if _, e := conn.ExecContext(whole, "ROLLBACK"); e != nil {
			conn.Raw(func(any) error { return driver.ErrBadConn })
			conn.Close()
			conn = nil
		}
	}()
	if err := change(d.newTx(ctx, conn)); err != nil {
		return err
	}
	if _, err := conn.ExecContext(whole, "COMMIT"); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	done = true
	d.startCheckpoint()
	return nil
}

// takeWriter waits for the write connection of SQLite, and opens it if it is not open. The caller sends it back to d.writer.
func (d *DB) takeWriter(ctx context.Context) (conn *sql.Conn, err error) {
	var open bool
	select {
	case conn, open = <-d.writer:
		if !open {
			return nil, fmt.Errorf("begin write transaction: %w", ErrClosed)
		}
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the write connection: %w", ctx.Err())
	}
	if conn == nil {
		if conn, err = d.writers.Conn(ctx); err != nil {
			d.writer <- nil
			return nil, fmt.Errorf("open write connection: %w", err)
		}
	}
	return conn, nil
}

// beginWrite takes the write lock. SQLite's wait cannot be cancelled, so each attempt is short.
// Random pauses between attempts avoid repeated collisions of two processes.
func (d *DB) beginWrite(ctx context.Context, conn *sql.Conn) error {
	deadline := time.Now().Add(d.cfg.Busy)
	for {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "BEGIN IMMEDIATE")
		if err == nil || !Busy(err) {
			return err
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return cmp.Or(ctx.Err(), err)
		}
		if err := sleepContext(ctx, time.Duration(1+rand.IntN(5))*time.Millisecond); err != nil {
			return err
		}
	}
}

// Settle forces the transaction to write to the log of SQLite. A process that is killed
// during a commit can leave the commit in the WAL file without an entry in the WAL index.
// Readers do not see it until a process rebuilds the index. A later commit overwrites that
// place in the log. After a transaction that settles, commits that it did not see can
// never appear.
func (t *Tx) Settle() error {
	if t.DB.dialect == expr.MySQL {
		return nil // the server completes or rolls back each commit
	}
	var n int32
	if _, err := t.Row("PRAGMA user_version", nil, &n); err != nil { // a 32-bit number without another use
		return err
	}
	_, err := t.Exec(fmt.Sprintf("PRAGMA user_version = %d", n&(1<<30-1)+1))
	return err
}

// Exec runs one statement and returns the number of changed rows. It checks the context
// only at its start. Use Each, which a cancelled context interrupts, for conditions of
// clients.
func (t *Tx) Exec(text string, args ...any) (changed int64, err error) {
	r, err := t.execStatement(text, args)
	if err != nil {
		return 0, err
	}
	changed, err = r.RowsAffected()
	t.DB.counts.rows.Add(changed)
	return changed, err
}

func (t *Tx) execStatement(text string, args []any) (sql.Result, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	t.DB.counts.statements.Add(1)
	return t.conn.ExecContext(context.WithoutCancel(t.ctx), text, args...)
}

// Insert runs an INSERT of one row and returns the row id. inserted is false if a row with
// one of its keys exists; that row stays unchanged.
func (t *Tx) Insert(text string, args ...any) (rowid int64, inserted bool, err error) {
	r, err := t.execStatement(text, args)
	if isDuplicateKey(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	rowid, err = r.LastInsertId()
	return rowid, true, err
}

// Each calls row with the scan function of every row of a query, until row returns an
// error. A cancelled context interrupts the query.
func (t *Tx) Each(text string, args []any, row func(scan func(...any) error) error) error {
	return t.Rows(text, args, nil, row)
}

// Row scans the first row of a query. found is false if there is no row.
func (t *Tx) Row(text string, args []any, into ...any) (found bool, err error) {
	t.DB.counts.statements.Add(1)
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

// All is Each for the named query.
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

// Try runs part and undoes its changes if it returns an error. It returns that error. The
// transaction continues.
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
