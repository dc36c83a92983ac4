#include <stdint.h>

// pagesum_register makes the VFS known to SQLite under a name, which stays in use. It returns a result code of SQLite.
int pagesum_register(const char *name);

// pagesum_of returns the checksum of a page without its last eight bytes: never 0. The number of a page counts from 0.
uint64_t pagesum_of(const unsigned char *page, int size, int64_t number);
