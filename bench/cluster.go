package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"hce/dc/internal/testkit/rig"
)

// Shape of the web of benchCluster.
const (
	clusterHosts = 200
	clusterDelay = 20 * time.Millisecond // between an answer of a host and its next request
	clusterPoll  = time.Second           // between two questions, which all nodes answer
)

// One machine of the extrapolation.
const (
	machineCores = 4
	machineNet   = 125e6 // bytes a second: 1 Gbit/s
	machineDisk  = 200e6 // bytes a second that are written
)

// clusterCost is what a crawl cost, for one page.
type clusterCost struct {
	nodes   int
	rate    float64 // pages a second
	cpu     float64 // seconds of the nodes
	headCPU float64 // seconds of the head, which runs the broker
	headOut float64 // bytes that the head writes to its disk
}

// totalCPU is the processor time of the nodes and the head.
func (c clusterCost) totalCPU() float64 { return c.cpu + c.headCPU }

// benchCluster crawls the same web with clusters of several sizes, all on this machine. It fails if a page
// is not fetched exactly once, or if a host is asked by two nodes or too early. Then it extrapolates.
func benchCluster(ctx context.Context, o options, pages int, sizes []string) error {
	facts := describeMachine(o.data)
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "nodes\tpages\tpages/s\tCPU ms/page\tefficiency\tto as many alone\thead CPU ms/page\thead bytes/page\tsmallest gap\t\n")
	var costs []clusterCost
	for _, size := range sizes {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number of nodes", size)
		}
		begin := time.Now()
		cost, record, err := o.crawlCluster(ctx, n, clusterHosts, max(pages/clusterHosts, 1))
		if err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
		costs = append(costs, cost)
		alone := cost.totalCPU()
		if n > 1 {
			if alone, err = o.crawlAlone(ctx, n, max(pages/clusterHosts, 1)); err != nil {
				return fmt.Errorf("%d nodes alone: %w", n, err)
			}
		}
		fmt.Fprintf(w, "%d\t%d\t%.1f\t%.3f\t%.3f\t%.3f\t%.4f\t%.0f\t%v\t\n", n, record.Requests, cost.rate, cost.cpu*1000,
			costs[0].totalCPU()/cost.totalCPU(), alone/cost.totalCPU(), cost.headCPU*1000, cost.headOut, record.Gap)
		fmt.Fprintf(o.talk, "%d nodes: %.1f pages/s, in %v\n", n, cost.rate, time.Since(begin).Round(time.Second))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(o.out)
	if err := printExtrapolation(o, costs); err != nil {
		return err
	}
	_, err := fmt.Fprintf(o.out, "\n%s\n", strings.Join(facts, "\n"))
	return err
}

// crawlAlone crawls as many webs as there are nodes, each with its part of the hosts, with clusters of one node
// at the same time. It returns the processor time of a page: what the processes cost that share these
// cores, without a link from one to another.
func (o options) crawlAlone(ctx context.Context, nodes, pagesOfHost int) (float64, error) {
	costs, errs := make([]clusterCost, nodes), make([]error, nodes)
	var running sync.WaitGroup
	for i := range nodes {
		running.Go(func() { costs[i], _, errs[i] = o.crawlCluster(ctx, 1, clusterHosts/nodes, pagesOfHost) })
	}
	running.Wait()
	sum := 0.0
	for _, c := range costs {
		sum += c.totalCPU()
	}
	return sum / float64(nodes), errors.Join(errs...)
}

// crawlCluster crawls a new web with a new cluster, without processing.
func (o options) crawlCluster(ctx context.Context, nodes, hosts, pagesOfHost int) (clusterCost, rig.Record, error) {
	fail := func(err error) (clusterCost, rig.Record, error) { return clusterCost{}, rig.Record{}, err }
	dir, err := os.MkdirTemp(o.data, "bench-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	web, err := rig.StartWeb(hosts, pagesOfHost, clusterDelay)
	if err != nil {
		return fail(err)
	}
	defer web.Close()
	var names []string
	for i := range nodes {
		names = append(names, fmt.Sprintf("n%d", i+1))
	}
	c, err := rig.StartCluster(ctx, rig.Options{
		Bin: o.bin, Ini: o.ini, Data: filepath.Join(dir, "data"), AllowLoopback: true,
		Env: []string{"DC_BatchTasksManagerProcess_ProcessingMode=0"},
	}, names...)
	if err != nil {
		return fail(err)
	}
	defer c.Close()
	before, err := usageOf(c)
	if err != nil {
		return fail(err)
	}
	begin := time.Now()
	id, err := c.NewSite(ctx, rig.Site{Root: web.Root(), Filter: web.Filter(), RequestDelay: int(clusterDelay.Milliseconds())})
	if err != nil {
		return fail(err)
	}
	all := hosts * pagesOfHost
	// Each answer costs all nodes, so the web says when the last page is requested.
	asked := func() (int, error) { return web.Record().Requests, nil }
	if _, err := awaitStatus(ctx, c.Rig, clusterPoll, asked, func(n int) bool { return n >= all }); err != nil {
		return fail(err)
	}
	if _, err := waitStatus(ctx, c.Rig, id, clusterPoll, func(s rig.Status) bool { return s.Resources >= all && s.NewURLs == 0 }); err != nil {
		return fail(err)
	}
	took := time.Since(begin)
	after, err := usageOf(c)
	if err != nil {
		return fail(err)
	}
	if faults := web.Faults(); len(faults) > 0 {
		return fail(errors.New(strings.Join(faults, "; ")))
	}
	n := float64(all)
	return clusterCost{
		nodes: nodes, rate: n / took.Seconds(), cpu: (after.cpu - before.cpu) / n,
		headCPU: (after.headCPU - before.headCPU) / n, headOut: (after.headOut - before.headOut) / n,
	}, web.Record(), nil
}

// usageOf sums up what the head and the nodes have used so far.
func usageOf(c *rig.Cluster) (clusterCost, error) {
	var sum clusterCost
	for i, pid := range c.PIDs() {
		usage, err := rig.TreeUsage(pid)
		if err != nil {
			return clusterCost{}, err
		}
		if i > 0 {
			sum.cpu += usage.CPU.Seconds()
			continue
		}
		sum.headCPU = usage.CPU.Seconds()
		if sum.headOut, err = readBytesWritten(pid); err != nil {
			return clusterCost{}, err
		}
	}
	return sum, nil
}

// readBytesWritten returns the bytes that a process has sent to disks.
func readBytesWritten(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(line, "wchar: "); ok {
			return strconv.ParseFloat(strings.TrimSpace(count), 64)
		}
	}
	return 0, fmt.Errorf("/proc/%d/io has no wchar", pid)
}

// printExtrapolation prints what clusters of equal machines would do, and what limits them. A share of
// 1-1/n of all links crosses nodes, so what a page costs grows with that share: by the largest cluster
// that was measured, less what one node costs.
func printExtrapolation(o options, costs []clusterCost) error {
	one, last := costs[0], costs[len(costs)-1]
	if one.nodes != 1 || last.nodes == 1 {
		return nil // nothing to compare
	}
	share := func(n int) float64 { return (1 - 1/float64(n)) / (1 - 1/float64(last.nodes)) }
	at := func(n int, single, most float64) float64 { return single + (most-single)*share(n) }
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "machines\tpages/s\thead processor\thead disk\thead network\tlimit\t\n")
	for _, n := range []int{1, 2, 4, 8, 16, 32, 50, 100} {
		rate := float64(n) * machineCores / at(n, one.cpu, last.cpu) // all nodes busy
		used := []struct {
			name  string
			share float64
		}{
			{"nodes", 1},
			{"head processor", rate * at(n, one.headCPU, last.headCPU) / machineCores},
			{"head disk", rate * at(n, one.headOut, last.headOut) / machineDisk},
			{"head network", 2 * rate * at(n, one.headOut, last.headOut) / machineNet}, // in and out
		}
		limit := used[0]
		for _, u := range used[1:] {
			if u.share > limit.share {
				limit = u
			}
		}
		fmt.Fprintf(w, "%d\t%.0f\t%.1f %%\t%.1f %%\t%.1f %%\t%s\t\n", n, rate/max(limit.share, 1), used[1].share*100, used[2].share*100, used[3].share*100, limit.name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(o.out, "\nmachines of %d cores, %.0f MB/s of network, %.0f MB/s of disk; the head has a machine of its own\n", machineCores, machineNet/1e6, machineDisk/1e6)
	return err
}
