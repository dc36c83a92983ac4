// Package pagesum is a VFS for SQLite (sqlite.org/vfs.html) that finds changed bytes in database files, as InnoDB does. The
// last eight bytes of each page, which SQLite reserves on request, hold a checksum of the page and its number. A page that is
// read from the file and does not have its sum is damage (SQLITE_CORRUPT) and no row.
//
// The log and its frames stay as they are: SQLite has sums in them. In memory, and so in the log, the eight bytes are 0; a page
// in the file that has 0 there is not checked. So a program without this VFS may read the file, copy the log into it after a
// kill, make a backup, and VACUUM the file, which gives up the sums of all pages until they are written again. A page that such
// a program changes does not have its sum; VACUUM with that program accepts its bytes.
//
// A file that was made without reserved bytes is used as it is.
package pagesum
