package bus

// #include <stdlib.h>
import "C"

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
)

// seed makes the routing ids of this process unforeseeable. A ROUTER numbers its
// peers from rand(), which nobody in libzmq 4.3 has seeded, and a peer may bring
// an id of its own. One that brings the very id whose turn comes next ends the
// process: libzmq asserts that it is free. Nobody can forbid peers that, so the
// numbers must not be known.
var seed = sync.OnceFunc(func() {
	var bits [4]byte
	_, _ = rand.Read(bits[:]) // it never fails: crypto/rand ends the program instead
	C.srand(C.uint(binary.NativeEndian.Uint32(bits[:])))
})
