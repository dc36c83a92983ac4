// Package ini has the ini files of the programs, with every key, its default and a comment. hce
// writes them to a new data folder:
//
//	text, err := ini.Files.ReadFile("dc-daemon.ini")
package ini

import "embed"

// Files are the ini files and the files that they name.
//
//go:embed crawler-task.ini db-task.ini dc-*.ini processor-task.ini *.txt
var Files embed.FS

// Archive is archive.ini, which archive init writes.
//
//go:embed archive.ini
var Archive string
