//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
)

// aNode is the program of a node in the commands of the page.
var aNode = regexp.MustCompile(`(?m)(^|; |do )((n\d|\$n)/bin/dc-node )`)

// The commands of docs/cluster.md make a cluster of three nodes of a machine with data, upgrade a node
// and remove one. The pages stay the same, and no host is requested by two nodes at once.
func TestClusterPage(t *testing.T) {
	web, err := rig.StartWeb(6, 10, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(web.Close)
	tree := newReadmeTree(t)
	tree.env = append(tree.env, fmt.Sprint("DC_Cluster_listen=127.0.0.1:", freePorts(t, 1)[0]), "DC_CrawlerTask_AllowedNetworks=127.0.0.0/8", "DC_StatusServer_StatusPort=0")
	site := fmt.Sprintf(`{"id":"town","urls":[%q],"requestDelay":10,"processingDelay":0,"filters":[{"pattern":%q,"type":1}],"properties":{"PROCESS_CTYPES":"text/html"}}`, web.Root(), web.Filter())
	if err := os.WriteFile(filepath.Join(tree.dir, "site.json"), []byte(site), 0o600); err != nil {
		t.Fatal(err)
	}
	page := clusterSections(t)
	const hce = "bin/hce "
	exported := func(file string) string {
		return hce + "export town --fields url,title,text,contentMd5 --out " + file + " -c ini/dc-client.ini"
	}
	nodes := page["From one machine to three in ten commands"]
	commands := slices.Concat(
		[]string{"bin/dc-daemon -c ini/dc-daemon.ini 2>dc-daemon.log &",
			"until " + hce + "site new --file site.json -c ini/dc-client.ini; do sleep 0.1; done",
			hce + "crawl town -c ini/dc-client.ini", exported("first.jsonl")},
		nodes[0], nodes[1], []string{exported("second.jsonl")},
		page["Upgrade"][0], []string{exported("third.jsonl")},
		page["Add, remove and replace nodes"][0], []string{exported("fourth.jsonl"),
			"for n in n1 n2; do kill $(cat $n/data/dc-daemon.lock); done", "kill $(cat data/dc-daemon.lock)"},
	)
	for i := range commands { // the nodes of one machine need ports of their own
		commands[i] = aNode.ReplaceAllString(commands[i], "${1}DC_AdminInterfaceServer_serverPort=0 $2")
	}
	if len(nodes[0]) != 10 {
		t.Errorf("%d commands, the page says ten", len(nodes[0]))
	}
	tree.run(t, commands)
	first := exportedLines(t, filepath.Join(tree.dir, "first.jsonl"))
	for _, name := range []string{"second", "third", "fourth"} {
		if got := exportedLines(t, filepath.Join(tree.dir, name+".jsonl")); !slices.Equal(got, first) || len(got) != web.Hosts*web.Pages {
			t.Errorf("%s: %d pages, want the %d of the first export", name, len(got), len(first))
		}
	}
	for _, fault := range web.Faults() {
		t.Error(fault)
	}
}

// clusterSections returns the sh blocks of docs/cluster.md by their section.
func clusterSections(t *testing.T) map[string][][]string {
	t.Helper()
	text, err := os.ReadFile("../docs/cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string][][]string{}
	for part := range strings.SplitSeq(string(text), "\n## ") {
		name, body, _ := strings.Cut(part, "\n")
		if blocks := shellBlocks(t, body); len(blocks) > 0 {
			sections[name] = blocks
		}
	}
	if len(sections) != 3 {
		t.Fatalf("%d sections with sh blocks, want 3", len(sections))
	}
	return sections
}
