// Package control steers a running web server through a Unix socket in its data folder.
//
//	l, err := control.Listen(folder)
//	go control.Serve(ctx, l, func(r control.Request) control.Reply { ... })
//
//	reply, err := control.Ask(ctx, folder, control.Request{Command: "off", Reason: "maintenance"})
//
// Only the user who owns the data folder can connect: the socket has mode 0600. A connection carries one
// request and one reply, each a line of JSON.
package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	// name is the socket in the data folder.
	name = "control.sock"
	// maxPath is the longest path of a Unix socket.
	maxPath = 107
	// timeout bounds a request.
	timeout = 5 * time.Second
	// maxRequest bounds a request in bytes, maxReply a reply.
	maxRequest = 64 << 10
	maxReply   = 256 << 20
	// connections is how many requests are answered at once; further ones wait in the system.
	connections = 8
)

// Request is a command to the server.
type Request struct {
	Command string `json:"command"`
	Reason  string `json:"reason,omitempty"` // of "off"
}

// Reply is the answer of the server.
type Reply struct {
	Error string          `json:"error,omitempty"` // the command was refused
	Text  string          `json:"text,omitempty"`  // for people
	Data  json.RawMessage `json:"data,omitempty"`  // for machines
}

// Listen opens the socket in a folder. The caller holds the lock of the folder: a socket that a killed
// server left is removed.
func Listen(folder string) (net.Listener, error) {
	path := filepath.Join(folder, name)
	if len(path) > maxPath {
		return nil, fmt.Errorf("control socket %s: the path is longer than %d bytes; set data_dir to a shorter one", path, maxPath)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	old := syscall.Umask(0o177) // no moment in which others can connect
	l, err := net.Listen("unix", path)
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	return l, nil
}

// Serve answers requests until ctx ends. It closes l, which removes the socket.
func Serve(ctx context.Context, l net.Listener, answer func(Request) Reply) error {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	var all sync.WaitGroup
	defer all.Wait()
	places := make(chan struct{}, connections)
	for {
		places <- struct{}{}
		c, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("control socket: %w", err)
		}
		all.Go(func() {
			defer func() { <-places }()
			defer c.Close()
			if c.SetDeadline(time.Now().Add(timeout)) == nil {
				serveRequest(c, answer)
			}
		})
	}
}

func serveRequest(c io.ReadWriter, answer func(Request) Reply) {
	line, err := bufio.NewReader(io.LimitReader(c, maxRequest)).ReadBytes('\n')
	if err != nil {
		return
	}
	var r Request
	reply := Reply{}
	if err := json.Unmarshal(line, &r); err != nil {
		reply.Error = "the request is no JSON: " + err.Error()
	} else {
		reply = answer(r)
	}
	_ = json.NewEncoder(c).Encode(reply) // the client may have left
}

// Ask sends a request to the server of a data folder.
func Ask(ctx context.Context, folder string, r Request) (Reply, error) {
	path := filepath.Join(folder, name)
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return Reply{}, fmt.Errorf("cannot reach a server of the data folder %s: %w; start it with \"hce-webserver serve\"", folder, err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := errors.Join(c.SetDeadline(time.Now().Add(2*timeout)), json.NewEncoder(c).Encode(r)); err != nil {
		return Reply{}, fmt.Errorf("request %s: %w", r.Command, err)
	}
	var reply Reply
	if err := json.NewDecoder(io.LimitReader(c, maxReply)).Decode(&reply); err != nil {
		return Reply{}, fmt.Errorf("reply to %s: %w", r.Command, err)
	}
	return reply, nil
}
