package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"syscall"

	"github.com/go-sql-driver/mysql"
	"github.com/mattn/go-sqlite3"

	"hce/dc/internal/manual"
)

// ErrNewer means that a newer program wrote the database: its schema has steps that this
// program does not know.
var ErrNewer = errors.New("the database has a newer schema than this program knows")

// ErrForeign means that a configured database holds tables of another program, for
// example of the original service.
var ErrForeign = errors.New(manual.Locate(`has a table "sites" that this program did not create; configure other database names (primary_db and the other *_db keys), or see docs/switching.md to move the data`))

// Error numbers of MySQL.
const (
	myTableExists   = 1050
	myColumnExists  = 1060
	myKeyNameExists = 1061
	myDuplicate     = 1062
	myCannotDrop    = 1091
	myNoTable       = 1146
	myLockTimeout   = 1205
	myDeadlock      = 1213
	myTableChanged  = 1412
	mySnapshotGone  = 1020 // MariaDB: the row changed since it was read
)

func mysqlNumber(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// criticalNumbers are MySQL errors: no rights, unknown database, disk full, read-only, damaged.
var criticalNumbers = []uint16{1021, 1030, 1034, 1035, 1044, 1045, 1049, 1114, 1142, 1143, 1194, 1195, 1227, 1290, 1698, 1836}

// Critical reports whether err means that the database is unusable, so that every other
// request fails too: it cannot be opened, is read-only, full, damaged, newer, or has I/O
// errors. An unreachable server is not critical because it may come back.
func Critical(err error) bool {
	var e sqlite3.Error
	if errors.As(err, &e) {
		switch e.Code {
		case sqlite3.ErrCantOpen, sqlite3.ErrReadonly, sqlite3.ErrFull, sqlite3.ErrCorrupt,
			sqlite3.ErrNotADB, sqlite3.ErrIoErr, sqlite3.ErrPerm:
			return true
		}
	}
	var file *fs.PathError // of the folder or the file at opening
	return errors.Is(err, ErrNewer) || errors.Is(err, ErrForeign) || errors.As(err, &file) ||
		slices.Contains(criticalNumbers, mysqlNumber(err))
}

// isDiskFull reports whether SQLite found no space on the disk.
func isDiskFull(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrFull || e.SystemErrno == syscall.ENOSPC)
}

// NameFull returns an error of SQLite about a full disk as one of the system that names the file: SQLite has numbers
// of its own. Other errors, and nil, are unchanged.
func NameFull(err error, path string) error {
	if !isDiskFull(err) {
		return err
	}
	return fmt.Errorf("%w: %w", &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}, err)
}

// ErrDamaged means that a file is no whole database.
var ErrDamaged = errors.New("the database is not whole")

// Damaged reports whether err says that a SQLite file is damaged, has other contents than expected, or is
// no file: what is in it cannot be used. A file without permission, a full or a busy one is not damaged.
func Damaged(err error) bool {
	var e sqlite3.Error
	if !errors.Is(err, ErrDamaged) && errors.As(err, &e) {
		return !isDiskFull(err) && slices.Contains([]sqlite3.ErrNo{sqlite3.ErrCorrupt, sqlite3.ErrNotADB, sqlite3.ErrCantOpen, sqlite3.ErrIoErr, sqlite3.ErrFormat}, e.Code)
	}
	return errors.Is(err, ErrDamaged) || errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENXIO)
}

// Corrupt reports whether err says that the bytes of a SQLite file are wrong. Unlike Damaged, it is false
// for a file that cannot be opened and for an error of the disk, which may pass.
func Corrupt(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && slices.Contains([]sqlite3.ErrNo{sqlite3.ErrCorrupt, sqlite3.ErrNotADB, sqlite3.ErrFormat}, e.Code)
}

// Denied reports whether err means that the server refuses the user or lacks a grant.
func Denied(err error) bool {
	switch mysqlNumber(err) {
	case 1044, 1045, 1142, 1227, 1698:
		return true
	}
	return false
}

// badNumbers are MySQL errors: NULL in a NOT NULL column, out of range, too long, above
// the packet size, invalid number or date, sub-select of several rows.
var badNumbers = []uint16{1048, 1153, 1242, 1264, 1265, 1292, 1366, 1406, 1690}

// BadValue reports whether err means that a value does not fit its column.
func BadValue(err error) bool {
	var e sqlite3.Error
	if errors.As(err, &e) {
		return e.ExtendedCode == sqlite3.ErrConstraintNotNull
	}
	return slices.Contains(badNumbers, mysqlNumber(err))
}

// Busy reports whether err means that another process held the database for longer than
// Config.Busy. The caller may retry.
func Busy(err error) bool {
	var e sqlite3.Error
	if errors.As(err, &e) {
		return e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked
	}
	return rolledBack(err)
}

// Passing reports whether err means that the database cannot answer now and may do so later: it
// cannot be reached, has no memory, or is busy.
func Passing(err error) bool {
	var e sqlite3.Error
	if errors.As(err, &e) && (e.Code == sqlite3.ErrNomem || e.Code == sqlite3.ErrInterrupt || e.Code == sqlite3.ErrProtocol) {
		return true
	}
	return Busy(err) || isUnreachable(err) || errors.Is(err, ErrUncertain) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || slices.Contains(passingNumbers, mysqlNumber(err))
}

// passingNumbers are MySQL errors: no memory, too many connections, statement interrupted.
var passingNumbers = []uint16{1037, 1038, 1040, 1041, 1203, 1317, 1969, 3024}

// rolledBack reports whether err means that the server rolled a transaction back because
// of a conflict with another one.
func rolledBack(err error) bool {
	switch mysqlNumber(err) {
	case myDeadlock, myLockTimeout, mySnapshotGone, myTableChanged:
		return true
	}
	return errors.Is(err, errAgain)
}

// tableChanged reports whether err means that a table of a site was created or dropped.
func tableChanged(err error) bool {
	n := mysqlNumber(err)
	return n == myNoTable || n == myTableChanged
}

// lostNumbers are MySQL errors: the server shuts down or closed the connection.
var lostNumbers = []uint16{1053, 1077, 1078, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 4031}

// isUnreachable reports whether err means that there is no connection to the server.
func isUnreachable(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var network net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.As(err, &network) ||
		errors.Is(err, io.ErrUnexpectedEOF) || slices.Contains(lostNumbers, mysqlNumber(err))
}

// isDuplicateKey reports whether err means that a row with one of the keys exists.
func isDuplicateKey(err error) bool {
	var e sqlite3.Error
	if errors.As(err, &e) {
		return e.ExtendedCode == sqlite3.ErrConstraintUnique || e.ExtendedCode == sqlite3.ErrConstraintPrimaryKey
	}
	return mysqlNumber(err) == myDuplicate
}
