package broker

import (
	"fmt"
	"strings"
)

// ExternalConfig returns the part of a nats-server configuration that lets exactly these keys in,
// with their permissions, and that makes an acknowledged message survive a power cut. The operator
// adds addresses, TLS and the cluster of servers, and pastes it again after each change of the keys.
//
// Known limit: all keys are in one account here, while the embedded server gives each node its own
// (see accounts). A node whose key is stolen can request JetStream data with a reply subject of
// the streams or of another node, and so make the server publish there.
func ExternalConfig(keys []Key) string {
	var b strings.Builder
	b.WriteString(`# Keys and permissions of the cluster of HCE Distributed Crawler. Write it again after each
# change of the nodes, and reload: nats-server --signal reload
# Add below: server_name, listen, tls, cluster, and store_dir in jetstream.
max_payload: 1MB
write_deadline: "10s"
jetstream { sync_interval: always }
accounts {
  DC {
    jetstream: enabled
    users: [
`)
	for _, key := range keys {
		p := PermissionsOf(key.Name)
		fmt.Fprintf(&b, "      # %s\n      { nkey: %s, permissions: {\n", key.Name, key.Public)
		fmt.Fprintf(&b, "        publish: { allow: [%s] }\n", formatSubjects(p.Publish))
		fmt.Fprintf(&b, "        subscribe: { allow: [%s] } } }\n", formatSubjects(p.Subscribe))
	}
	b.WriteString("    ]\n  }\n}\n")
	return b.String()
}

// formatSubjects lists subjects, each on its own line. Names and subjects have no quotes.
func formatSubjects(subjects []string) string {
	return "\n          \"" + strings.Join(subjects, "\",\n          \"") + "\"\n        "
}
