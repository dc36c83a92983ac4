// Package program has the sub-commands of hce-webserver.
//
//	os.Exit(program.Command().Main(os.Args[1:]))
//
// serve is the web server, store is the Web Store, and ctl steers a running server. They handle signals themselves.
package program
