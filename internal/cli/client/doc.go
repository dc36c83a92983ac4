// Package client sends a request to a running daemon and returns its reply. It is the part
// of dc-client and dc-admin behind their command lines.
//
//	out := client.Call{Op: wire.SiteStatus, Object: raw, Server: server}.Do(ctx)
//	text, err := client.Text(out.JSON)
//	os.Exit(out.Exit)
//
// The shape of a request is checked before it is sent. The data node checks ids, keys and
// SQL. Sources: docs/spec/objects.md 6, docs/spec/daemon.md 4.
package client
