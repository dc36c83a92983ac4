// Package layertest enforces the drawing of the packages in docs/architecture.md.
//
//	dc.go  cmd                       the crawler in Go programs; programs: flags, config, logger, signals, one call
//	apps/search                      the search engine, also of the next row
//	engine  apps/archive  apps/webserver  apps/ose
//	                                 the crawler in one process; guests, on its public calls
//	cli                              what the programs share
//	daemon                           managers, message bus, executor
//	storage  crawl  process          the three jobs of the task programs
//	web  config  task  frontier      rules about pages; settings; the loop of a task program; which URLs are next
//	wire  files                      the protocol; atomic files and locks
//	testkit                          what tests share, of any row
//
// A package imports packages of lower rows, never of a higher row and never of another
// group in its own row. Inside a group, the package that has the group's name may import
// every other one; all other imports inside a group are listed in arrows.
package layertest
