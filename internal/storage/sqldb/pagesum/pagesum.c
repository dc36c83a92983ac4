// A VFS that keeps a checksum in the last eight bytes of each page of a database file. See doc.go.
#include "pagesum.h"

#include <string.h>

#include "sqlite.h"

enum { SUM = 8, LARGEST_PAGE = 65536 };

// file is a database file. That of the system's VFS follows it in memory.
typedef struct {
  sqlite3_file base;
  sqlite3_file *real;
  int page_size;  // of a file whose pages have room for sums, otherwise 0
} file;

#define REAL(f) (((file *)(f))->real)
#define CALL(f, method, ...) REAL(f)->pMethods->method(REAL(f), ##__VA_ARGS__)

static uint64_t word(const unsigned char *p) {
  uint64_t w = 0;
  for (int i = 7; i >= 0; i--) w = w << 8 | p[i];
  return w;
}

static void put_word(unsigned char *p, uint64_t w) {
  for (int i = 0; i < 8; i++, w >>= 8) p[i] = (unsigned char)w;
}

// volatile_word reports whether a word of the header differs between a file and its copy by SQLite's backup: change
// counter, schema cookie, version-valid-for and version number (fileformat2.html, 1.3).
static int volatile_word(int64_t number, int at) { return number == 0 && (at == 24 || at == 40 || at == 88 || at == 96); }

// sum_of returns the checksum of a page without its last eight bytes: never 0. The number of a page counts from 0.
static uint64_t sum_of(const unsigned char *page, int size, int64_t number) {
  uint64_t sum = 0x9e3779b97f4a7c15u ^ (uint64_t)number;
  for (int at = 0; at < size - SUM; at += 8) {
    uint64_t w = volatile_word(number, at) ? 0 : word(page + at);
    sum = (sum ^ w) * 0xff51afd7ed558ccdu;
    sum ^= sum >> 32;
  }
  return sum ? sum : 1;
}

// learn reads from the head of a database file whether its pages have room for sums.
static void learn(file *f, const unsigned char *head, int size, sqlite3_int64 at) {
  if (at != 0 || size < 100 || memcmp(head, "SQLite format 3", 16) != 0) return;
  int page = head[16] << 8 | head[17];
  f->page_size = head[20] != SUM ? 0 : page == 1 ? LARGEST_PAGE : page;
}

static int has_sum(file *f, int size, sqlite3_int64 at) { return size == f->page_size && size > SUM && at % size == 0; }

static int read_page(sqlite3_file *base, void *data, int size, sqlite3_int64 at) {
  file *f = (file *)base;
  int result = CALL(base, xRead, data, size, at);
  if (result != SQLITE_OK) return result;
  learn(f, data, size, at);
  if (!has_sum(f, size, at)) return SQLITE_OK;
  unsigned char *sum = (unsigned char *)data + size - SUM;
  uint64_t stored = word(sum);
  if (stored != 0 && stored != sum_of(data, size, at / size)) return SQLITE_CORRUPT;
  memset(sum, 0, SUM);  // so that another program that copies the log into the file writes no old sum
  return SQLITE_OK;
}

static int write_page(sqlite3_file *base, const void *data, int size, sqlite3_int64 at) {
  file *f = (file *)base;
  learn(f, data, size, at);
  if (!has_sum(f, size, at)) return CALL(base, xWrite, data, size, at);
  unsigned char page[LARGEST_PAGE];
  memcpy(page, data, size);
  put_word(page + size - SUM, sum_of(page, size, at / size));
  return CALL(base, xWrite, page, size, at);
}

static int close_file(sqlite3_file *f) { return CALL(f, xClose); }
static int truncate_file(sqlite3_file *f, sqlite3_int64 size) { return CALL(f, xTruncate, size); }
static int sync_file(sqlite3_file *f, int flags) { return CALL(f, xSync, flags); }
static int file_size(sqlite3_file *f, sqlite3_int64 *size) { return CALL(f, xFileSize, size); }
static int lock(sqlite3_file *f, int level) { return CALL(f, xLock, level); }
static int unlock(sqlite3_file *f, int level) { return CALL(f, xUnlock, level); }
static int check_reserved(sqlite3_file *f, int *reserved) { return CALL(f, xCheckReservedLock, reserved); }
static int file_control(sqlite3_file *f, int op, void *arg) { return CALL(f, xFileControl, op, arg); }
static int sector_size(sqlite3_file *f) { return CALL(f, xSectorSize); }
static int shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out) { return CALL(f, xShmMap, page, size, extend, out); }
static int shm_lock(sqlite3_file *f, int offset, int n, int flags) { return CALL(f, xShmLock, offset, n, flags); }
static void shm_barrier(sqlite3_file *f) { CALL(f, xShmBarrier); }
static int shm_unmap(sqlite3_file *f, int remove) { return CALL(f, xShmUnmap, remove); }

// characteristics: a page is always read whole.
static int characteristics(sqlite3_file *f) { return CALL(f, xDeviceCharacteristics) & ~SQLITE_IOCAP_SUBPAGE_READ; }

// Version 2 has no xFetch: a file that is mapped into memory would be read without its sums.
static const sqlite3_io_methods methods = {
    2,        close_file,     read_page,    write_page,  truncate_file,   sync_file, file_size, lock,        unlock,
    check_reserved, file_control, sector_size, characteristics, shm_map,   shm_lock,  shm_barrier, shm_unmap,
};

static sqlite3_vfs *system_vfs;

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out) {
  (void)vfs;
  if (!(flags & SQLITE_OPEN_MAIN_DB)) return system_vfs->xOpen(system_vfs, name, base, flags, out);
  file *f = (file *)base;
  f->real = (sqlite3_file *)(f + 1);
  f->page_size = 0;
  f->real->pMethods = 0;
  int result = system_vfs->xOpen(system_vfs, name, f->real, flags, out);
  base->pMethods = f->real->pMethods ? &methods : 0;
  return result;
}

int pagesum_register(const char *name) {
  static sqlite3_vfs vfs;
  system_vfs = sqlite3_vfs_find(0);
  if (!system_vfs) return 1;
  vfs = *system_vfs;  // its other methods need no file
  vfs.pNext = 0;
  vfs.zName = name;
  vfs.szOsFile += sizeof(file);
  vfs.xOpen = open_file;
  return sqlite3_vfs_register(&vfs, 0);
}
