package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/config"
	"hce/dc/internal/wire"
)

// options are the values of the command line; empty if not given.
type options struct {
	config, command, file, fields, mode, merge string
	timeout, host, port, output, errorFile     string
	verbose                                    string
}

// operations returns the names of the operations that clients may send.
func operations() (names []string) {
	for op := range wire.Op(wire.ResponseOffset) {
		if op.Client() {
			names = append(names, op.String())
		}
	}
	return names
}

// run sends the operation, or returns the failure that the options or the ini file cause.
func (o options) run(ctx context.Context) client.Outcome {
	server, err := o.server()
	switch {
	case errors.Is(err, errPort):
		return client.Failure(client.ExitFailure, err.Error())
	case err != nil:
		err = errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
		fmt.Fprintln(os.Stderr, "dc-client:", err)
		return client.Outcome{JSON: client.Failure(client.ExitFailure, "Error loading application config file. "+err.Error()).JSON, Exit: 1}
	}
	if o.command == "" {
		return client.Failure(client.ExitArguments, "Not present [--help] or [--command] mandatory args")
	}
	op, ok := wire.ParseOp(o.command)
	if !ok || !op.Client() {
		return client.Failure(client.ExitArguments, fmt.Sprintf("[--command] arg's value not present in value's list: %q", o.command))
	}
	if o.file == "" && o.fields == "" {
		return client.Failure(client.ExitArguments, "Absent [--file] or [--fields] arg with [--commands] arg")
	}
	mode, err := strconv.Atoi(o.mode)
	if o.mode != "" && (err != nil || mode < client.Replace || mode > client.Append) {
		return client.Failure(client.ExitArguments, fmt.Sprintf("[--mode] arg's value %q is not 0, 1 or 2", o.mode))
	}
	object, err := client.Request(op, o.file, o.fields, mode)
	if err != nil {
		return client.Failure(client.ExitRefused, err.Error())
	}
	call := client.Call{Op: op, Object: object, Server: server}
	if o.merge != "" {
		merge := o.merge != "0" && !strings.EqualFold(o.merge, "false")
		call.Merge = &merge
	}
	if o.verbose != "" {
		fmt.Fprintf(os.Stderr, "dc-client: %s to %s:%d\n", op, server.Host, server.Port)
	}
	return call.Do(ctx)
}

var errPort = errors.New("[--dcc_clientPort] is not a number from 1 to 65535")

// server is the server of the ini file, with the overrides of the options.
func (o options) server() (client.Server, error) {
	f, err := config.Open("dc-client", o.config)
	if err != nil {
		return client.Server{}, err
	}
	s := f.Section("dcc")
	server := client.ReadServer(s, 5504, client.Timeout(s))
	if err := f.Err(); err != nil {
		return server, err
	}
	if o.host != "" {
		server.Host = strings.Trim(o.host, `"'`)
	}
	if o.port != "" {
		n, err := strconv.ParseUint(o.port, 10, 16)
		if err != nil || n == 0 {
			return server, fmt.Errorf("%w: %q", errPort, o.port)
		}
		server.Port = int(n)
	}
	// A value that is not all digits is ignored (docs/spec/objects.md 6.1).
	if n, err := strconv.ParseUint(o.timeout, 10, 63); err == nil && n > 0 {
		server.Timeout = time.Duration(min(n, uint64(client.LongestTimeout/time.Millisecond))) * time.Millisecond
	}
	return server, nil
}

// print writes the outcome without a final newline (docs/spec/objects.md 3) and returns
// the exit status.
func (o options) print(out client.Outcome) int {
	text, err := client.Text(out.JSON)
	if err != nil {
		failure := client.Failure(client.ExitArguments, "Error: JSON serialize error: "+err.Error())
		out.Exit = failure.Exit
		text, _ = client.Text(failure.JSON) // strings and numbers: cannot fail
	}
	if o.output != "" {
		err = os.WriteFile(o.output, text, 0o644)
	} else {
		_, err = os.Stdout.Write(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dc-client:", err)
		return client.ExitFailure
	}
	if o.errorFile != "" {
		var e struct {
			Code    int    `json:"error_code"`
			Message string `json:"error_message"`
		}
		_ = json.Unmarshal(text, &e) // absent from an answer of the service
		report, _ := client.Text(map[string]any{"errorCode": e.Code, "errorMessage": e.Message})
		if err := os.WriteFile(o.errorFile, report, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "dc-client:", err)
			return client.ExitFailure
		}
	}
	return out.Exit
}
