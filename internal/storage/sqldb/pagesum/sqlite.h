// What a VFS needs of the interface of SQLite, which never changes (sqlite.org/c3ref/vfs.html, io_methods.html).
// The library itself is linked in by github.com/mattn/go-sqlite3.
#include <stdint.h>

#define SQLITE_OK 0
#define SQLITE_CORRUPT 11
#define SQLITE_OPEN_MAIN_DB 0x00000100
#define SQLITE_IOCAP_SUBPAGE_READ 0x00008000

typedef int64_t sqlite3_int64;
typedef struct sqlite3_file sqlite3_file;
typedef struct sqlite3_vfs sqlite3_vfs;
typedef struct sqlite3_io_methods sqlite3_io_methods;

struct sqlite3_file {
  const sqlite3_io_methods *pMethods;
};

struct sqlite3_io_methods {
  int iVersion;
  int (*xClose)(sqlite3_file *);
  int (*xRead)(sqlite3_file *, void *, int, sqlite3_int64);
  int (*xWrite)(sqlite3_file *, const void *, int, sqlite3_int64);
  int (*xTruncate)(sqlite3_file *, sqlite3_int64);
  int (*xSync)(sqlite3_file *, int);
  int (*xFileSize)(sqlite3_file *, sqlite3_int64 *);
  int (*xLock)(sqlite3_file *, int);
  int (*xUnlock)(sqlite3_file *, int);
  int (*xCheckReservedLock)(sqlite3_file *, int *);
  int (*xFileControl)(sqlite3_file *, int, void *);
  int (*xSectorSize)(sqlite3_file *);
  int (*xDeviceCharacteristics)(sqlite3_file *);
  int (*xShmMap)(sqlite3_file *, int, int, int, void volatile **);
  int (*xShmLock)(sqlite3_file *, int, int, int);
  void (*xShmBarrier)(sqlite3_file *);
  int (*xShmUnmap)(sqlite3_file *, int);
};

struct sqlite3_vfs {
  int iVersion;
  int szOsFile;
  int mxPathname;
  sqlite3_vfs *pNext;
  const char *zName;
  void *pAppData;
  int (*xOpen)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *);
  int (*xDelete)(sqlite3_vfs *, const char *, int);
  int (*xAccess)(sqlite3_vfs *, const char *, int, int *);
  int (*xFullPathname)(sqlite3_vfs *, const char *, int, char *);
  void *(*xDlOpen)(sqlite3_vfs *, const char *);
  void (*xDlError)(sqlite3_vfs *, int, char *);
  void (*(*xDlSym)(sqlite3_vfs *, void *, const char *))(void);
  void (*xDlClose)(sqlite3_vfs *, void *);
  int (*xRandomness)(sqlite3_vfs *, int, char *);
  int (*xSleep)(sqlite3_vfs *, int);
  int (*xCurrentTime)(sqlite3_vfs *, double *);
  int (*xGetLastError)(sqlite3_vfs *, int, char *);
  int (*xCurrentTimeInt64)(sqlite3_vfs *, sqlite3_int64 *);
  void *calls[3]; // of version 3, for tests of SQLite itself
};

// Weak: cgo links each package alone, without the library, before all together.
__attribute__((weak)) sqlite3_vfs *sqlite3_vfs_find(const char *name);
__attribute__((weak)) int sqlite3_vfs_register(sqlite3_vfs *, int isDefault);
