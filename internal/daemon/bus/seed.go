package bus

// #include <stdlib.h>
import "C"

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
)

// seedRoutingIDs makes the routing ids of this process unpredictable. libzmq 4.3 numbers the
// peers of a ROUTER from an unseeded rand(), and a peer may choose its own id. If that id
// equals the next number, an assertion of libzmq ends the process.
var seedRoutingIDs = sync.OnceFunc(func() {
	var bits [4]byte
	_, _ = rand.Read(bits[:]) // crypto/rand never returns an error
	C.srand(C.uint(binary.NativeEndian.Uint32(bits[:])))
})
