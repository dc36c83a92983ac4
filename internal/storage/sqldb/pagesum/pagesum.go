package pagesum

// #include "pagesum.h"
import "C"

import (
	"fmt"
	"sync"
)

// Name is the name of the VFS, the value of "vfs" in a URI of SQLite. It is known after Register.
const Name = "pagesum"

// Size is the number of bytes that SQLite has to reserve in each page.
const Size = 8

// Register makes the VFS known to SQLite.
var Register = sync.OnceValue(func() error {
	if code := C.pagesum_register(C.CString(Name)); code != 0 {
		return fmt.Errorf("register VFS %s: result code %d of SQLite", Name, code)
	}
	return nil
})
