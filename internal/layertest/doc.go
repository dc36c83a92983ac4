// Package layertest enforces the drawing of the packages in docs/architecture.md.
//
//	cmd                              programs: flags, config, logger, signals, one call
//	search                           the search engine, also of the next row
//	archive  webserver  ose          further programs on top of the crawler
//	cli                              what the programs share
//	daemon                           managers, message bus, executor
//	storage  crawl  process          the three jobs of the task programs
//	web  config  task                rules about pages; settings; the loop of a task program
//	wire  files                      the protocol; atomic files and locks
//
// A package imports packages of lower rows, never of a higher row and never of another
// group in its own row. Inside a group, the package that has the group's name may import
// every other one; all other imports inside a group are listed in arrows.
package layertest
