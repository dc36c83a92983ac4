// Command bench compares the speed of the real system with other crawlers, on the same pages
// of the same server and in one run. docs/performance.md explains its output.
//
//	bench -quick
//	bench -sites postgresql,openjdk -programs floor,dc-stored -runs 3
//
// It needs nginx, the documentation packages that scripts/setup.sh bench installs, and the
// folders bin and ini. Programs that are missing are left out, and the output names them. The
// exit status is 1 if a run fails, 2 after wrong flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && runsAlone[os.Args[1]] != nil {
		os.Exit(runsAlone[os.Args[1]](os.Args[1:]))
	}
	o := options{out: os.Stdout, talk: os.Stderr}
	sites := flag.String("sites", "postgresql,python,openjdk", "crawl these: `names`, or folders with a slash")
	process := flag.String("process", "postgresql,python", "also process the pages of these `sites`")
	programs := flag.String("programs", "", "run only programs whose names begin with one of these `prefixes`")
	flag.IntVar(&o.runs, "runs", 1, "run each program this often and take the fastest run")
	quick := flag.Bool("quick", false, "one site, one run, and processing with one setting only")
	most := flag.Int("scale", 0, "crawl a growing site up to this `number` of URLs instead")
	slowSites := flag.Int("slow", 0, "crawl a fast host together with this `number` of slow ones instead")
	firstSites := flag.Int("first", 0, "make this `number` of sites in a warm daemon and time their first requests instead")
	apiSeconds := flag.Int("api", 0, "scrape by the REST API for this number of `seconds`, and crawl with and without its requests, instead")
	clusterPages := flag.Int("cluster", 0, "crawl this `number` of pages of 200 hosts with clusters instead")
	nodes := flag.String("nodes", "1,2,4,8", "`numbers` of nodes of -cluster")
	exported := flag.Int("export", 0, "export a site with this `number` of pages with hce instead")
	old := flag.String("old", "", "compare processing with the build in this `folder` instead, which has bin and ini")
	profiles := flag.String("profile", "", "crawl the sites with profiles in this `folder` instead, and print where the time goes")
	flag.StringVar(&o.document, "document", "", "put the tables of -profile into this `file`, between the marks")
	flag.StringVar(&o.bin, "bin", "bin", "`folder` of dc-daemon and the clients; the ini files name the task programs")
	flag.StringVar(&o.ini, "ini", "ini", "`folder` of the ini files")
	flag.StringVar(&o.data, "data", os.TempDir(), "make the data folders of all programs in this `folder`")
	flag.Parse()
	if *quick {
		*sites, o.runs = "postgresql", 1
		if *programs == "" {
			*programs = "floor,colly,wget2,scrapy,dc-stored,dc-processed-sqlite-4"
		}
	}
	var err error
	if *most == 0 && *slowSites == 0 && *exported == 0 && *clusterPages == 0 && *firstSites == 0 && *apiSeconds == 0 {
		o.sites, err = findSites(splitWords(*sites), splitWords(*process))
	}
	if err == nil && (flag.NArg() > 0 || o.runs < 1) {
		err = errors.New("unexpected arguments; see bench -help")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	o.programs = splitWords(*programs)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	d := dc{bin: o.bin, ini: o.ini, concurrency: parallel}
	switch {
	case *most > 0:
		err = measureScaling(ctx, o, *most, d)
	case *slowSites > 0:
		err = measureSlowHosts(ctx, o, *slowSites, d)
	case *firstSites > 0:
		err = firstRequests(ctx, o, *firstSites, d)
	case *apiSeconds > 0:
		err = benchAPI(ctx, o, *apiSeconds, d)
	case *clusterPages > 0:
		err = benchCluster(ctx, o, *clusterPages, splitWords(*nodes))
	case *exported > 0:
		err = exportSite(ctx, o, *exported)
	case *old != "":
		err = compareProcessing(ctx, o, *old)
	case *profiles != "":
		err = profileSites(ctx, o, *profiles, d)
	default:
		err = runBenchmarks(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// splitWords lists the words of a flag, none for "".
func splitWords(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' })
}
