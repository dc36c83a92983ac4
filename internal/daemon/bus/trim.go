package bus

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
static void trim(void) { malloc_trim(0); }
#else
static void trim(void) {}
#endif
*/
import "C"

// trimHeap returns the free memory of the C library to the system. libzmq copies messages there, and the
// library keeps what a burst of large ones needed.
func trimHeap() { C.trim() }
