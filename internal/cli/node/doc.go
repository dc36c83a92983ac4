// Package node is a crawler of one's own: a folder that has everything, and the programs that
// work in it. hce asks its stores when no daemon runs, and the archive crawls in one.
//
//	n, err := node.Open(dir, programs) // creates bin, ini and data in dir
//	stores, err := n.Stores()          // answers operations without a daemon
//	defer stores.Close()
//	daemon, err := n.Start(ctx, node.Options{})
//	defer daemon.Stop()
//	err = daemon.Ask(ctx, wire.SiteFind, request, &sites)
//
// The folder looks like the top folder of the repository: bin (a link to the programs), ini (files
// that the user may edit) and data. So all documented commands work in it.
//
// No process outlives this one: Linux kills it (package childprocess).
package node
