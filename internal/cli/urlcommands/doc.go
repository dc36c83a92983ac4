// Package urlcommands has the sub-commands of hce about stored URLs and their pages: url, page and explain.
//
//	root.Add(urlcommands.PageCommand(program))
package urlcommands
