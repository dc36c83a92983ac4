// Package cli groups what the programs in cmd/ share: their options, help, manual pages
// and completions, the client of a running daemon, the live screen of dc-admin, and the
// frame of the three task programs.
//
// What may not live here: rules of crawling, processing or storing. A package of this
// group turns arguments into calls and results into text.
package cli
