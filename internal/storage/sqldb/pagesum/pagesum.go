package pagesum

// #include "pagesum.h"
import "C"

import (
	"fmt"
	"sync"

	"github.com/mattn/go-sqlite3"
)

// Name is the name of the VFS, the value of "vfs" in a URI of SQLite. It is known after Register.
const Name = "pagesum"

// Register makes the VFS known to SQLite.
var Register = sync.OnceValue(func() error {
	if code := C.pagesum_register(C.CString(Name)); code != 0 {
		return fmt.Errorf("register VFS %s: result code %d of SQLite", Name, code)
	}
	return nil
})

// size is the number of bytes of a sum.
const size = 8

// fcntlReserveBytes is SQLITE_FCNTL_RESERVE_BYTES.
const fcntlReserveBytes = 38

// Reserve gives the pages of a database room for sums: of a new one before its first write, of an older one with its next
// VACUUM.
func Reserve(c *sqlite3.SQLiteConn) error {
	if err := c.SetFileControlInt("main", fcntlReserveBytes, size); err != nil {
		return fmt.Errorf("reserve room for the checksums of pages: %w", err)
	}
	return nil
}
