// Package client is one request and its reply: what dc-client and dc-admin do
// once their arguments and ini files are read.
//
//	response := client.Call{Op: wire.SiteStatus, Object: raw, Server: server}.Do(ctx)
//	fmt.Println(client.Text(response.JSON)); os.Exit(response.Exit)
//
// Requests are checked for their shape before they travel, so that a slip is
// answered without a server. Ids, keys and SQL are judged by the data node.
// Sources: docs/spec/objects.md 6, docs/spec/daemon.md 4.
package client
