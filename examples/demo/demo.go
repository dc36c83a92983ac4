package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"hce/dc/examples/rig"
	"hce/dc/examples/siteserver/site"
)

// demo is one run.
type demo struct {
	options
	out  io.Writer // data
	talk io.Writer // everything else
	live bool      // out and talk are terminals
}

// run does all steps. Everything that it started has ended when it returns.
func (d *demo) run(ctx context.Context) (err error) {
	data, err := os.MkdirTemp("", "dc-demo-")
	if err != nil {
		return err
	}
	defer func() {
		if d.keep {
			fmt.Fprintln(d.talk, "data folder:", data)
		} else if removeErr := os.RemoveAll(data); err == nil {
			err = removeErr
		}
	}()

	root := d.site
	if root == "" {
		var closeServer func()
		if root, closeServer, err = serve(d.dir); err != nil {
			return err
		}
		defer closeServer()
		fmt.Fprintln(d.talk, "serving", root)
	}
	target, err := d.target(root)
	if err != nil {
		return err
	}

	fmt.Fprintln(d.talk, "starting dc-daemon")
	r, err := rig.Start(ctx, rig.Options{Bin: d.bin, Ini: d.ini, Data: data, AllowLoopback: d.site == ""})
	if err != nil {
		return err
	}
	defer r.Close()

	start := time.Now()
	id, err := r.NewSite(ctx, target)
	if err != nil {
		return err
	}
	fmt.Fprintln(d.talk, "crawling", target.Root)
	if err := d.follow(ctx, r, id, start); err != nil {
		return err
	}
	took := time.Since(start)

	summary, err := d.report(ctx, r, id)
	if err != nil {
		return err
	}
	fmt.Fprintln(d.talk, "stopping dc-daemon")
	if err := r.Stop(ctx); err != nil {
		return err
	}
	if summary.pages == 0 {
		return errors.New("no page was crawled")
	}
	_, err = fmt.Fprintf(d.out, "pages=%d urls=%d errors=%d bytes=%d seconds=%.1f\n",
		summary.pages, summary.urls, summary.errors, summary.bytes, took.Seconds())
	return err
}

// serve serves dir, or the example site if dir is "", on a free loopback port.
func serve(dir string) (root string, closeServer func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: site.Handler(site.Options{Dir: dir}), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // returns after Close
	return "http://" + listener.Addr().String() + "/", func() { server.Close() }, nil
}
