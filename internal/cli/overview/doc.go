// Package overview shows all sites of a service, and the nodes of a cluster: hce status and hce top.
//
//	root.Add(overview.TopCommand(program))
package overview
