// pagesum_register makes the VFS known to SQLite under a name, which stays in use. It returns a result code of SQLite.
int pagesum_register(const char *name);
