package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"io/fs"
	"net"
	"slices"

	"github.com/go-sql-driver/mysql"
	"github.com/mattn/go-sqlite3"
)

// ErrNewer says that the database was written by a newer program: its schema has
// steps that this one does not know.
var ErrNewer = errors.New("the database has a newer schema than this program knows")

// ErrForeign says that a database of that name holds tables that are not ours,
// as those of the original service.
var ErrForeign = errors.New(`has tables "sites" that this program did not make; choose other names of databases (primary_db and its kin), or see docs/switching.md to move the data`)

// Numbers of MySQL's errors.
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

// criticalNumbers: no rights, no such database, disk full, read-only, damaged.
var criticalNumbers = []uint16{1021, 1030, 1034, 1035, 1044, 1045, 1049, 1114, 1142, 1143, 1194, 1195, 1227, 1290, 1698, 1836}

// Critical reports whether err means that the database itself is unusable (it
// cannot be opened, is read-only, full, damaged, newer, or fails on input and
// output), so that every other request would fail as well. A server that is away
// is not: it comes back.
func Critical(err error) bool {
	var e sqlite3.Error
	if errors.As(err, &e) {
		switch e.Code {
		case sqlite3.ErrCantOpen, sqlite3.ErrReadonly, sqlite3.ErrFull, sqlite3.ErrCorrupt,
			sqlite3.ErrNotADB, sqlite3.ErrIoErr, sqlite3.ErrPerm:
			return true
		}
	}
	var file *fs.PathError // of the folder or the file, when it is opened
	return errors.Is(err, ErrNewer) || errors.Is(err, ErrForeign) || errors.As(err, &file) ||
		slices.Contains(criticalNumbers, mysqlNumber(err))
}

// Denied reports whether err means that the server does not let this user in, or
// do what is needed.
func Denied(err error) bool {
	switch mysqlNumber(err) {
	case 1044, 1045, 1142, 1227, 1698:
		return true
	}
	return false
}

// badNumbers: NULL where there must be a value, out of range, too long, longer
// than the server takes at once, no number, no date, a sub-select of several rows.
var badNumbers = []uint16{1048, 1153, 1242, 1264, 1265, 1292, 1366, 1406, 1690}

// BadValue reports whether err means that a value does not fit its column.
func BadValue(err error) bool {
	var e sqlite3.Error
	if errors.As(err, &e) {
		return e.ExtendedCode == sqlite3.ErrConstraintNotNull
	}
	return slices.Contains(badNumbers, mysqlNumber(err))
}

// Busy reports whether err means that another process held the database for
// longer than Config.Busy; the request may be tried again.
func Busy(err error) bool {
	var e sqlite3.Error
	if errors.As(err, &e) {
		return e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrLocked
	}
	return yields(err)
}

// yields reports whether err says that a transaction had to give way; nothing of
// it is left.
func yields(err error) bool {
	switch mysqlNumber(err) {
	case myDeadlock, myLockTimeout, mySnapshotGone, myTableChanged:
		return true
	}
	return errors.Is(err, errAgain)
}

// moved reports whether err says that a table of a site came or went meanwhile.
func moved(err error) bool {
	n := mysqlNumber(err)
	return n == myNoTable || n == myTableChanged
}

// lostNumbers: the server shuts down, or ended the connection.
var lostNumbers = []uint16{1053, 1077, 1078, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 4031}

// unreachable reports whether err says that there is no connection to the
// server, or no more.
func unreachable(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var network net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.As(err, &network) ||
		errors.Is(err, io.ErrUnexpectedEOF) || slices.Contains(lostNumbers, mysqlNumber(err))
}

// duplicate reports whether err says that a row with one of the keys is there.
func duplicate(err error) bool {
	var e sqlite3.Error
	if errors.As(err, &e) {
		return e.ExtendedCode == sqlite3.ErrConstraintUnique || e.ExtendedCode == sqlite3.ErrConstraintPrimaryKey
	}
	return mysqlNumber(err) == myDuplicate
}
