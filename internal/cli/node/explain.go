package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"hce/dc/internal/childprocess"
)

// Explain runs a task program with --explain, args and input as its stdin (nil: none), and returns its JSON. It works in the folder of
// n with the options, or with the ini file of the program next to crawlerIni, a crawler-task.ini, if n is
// nil.
func Explain(ctx context.Context, n *Node, o Options, crawlerIni string, input io.Reader, program string, args ...string) ([]byte, error) {
	var cmd *exec.Cmd
	if n == nil {
		programs, err := Programs()
		if err != nil {
			return nil, err
		}
		ini := crawlerIni
		if program != "crawler-task" {
			ini = filepath.Join(filepath.Dir(crawlerIni), program+".ini")
		}
		cmd = exec.CommandContext(ctx, filepath.Join(programs, program), append([]string{"-c", ini}, args...)...)
	} else {
		cmd = exec.CommandContext(ctx, n.programPath(program), append([]string{"-c", filepath.Join(n.IniDir(), program+".ini")}, args...)...)
		cmd.Env = append(n.programEnvironment(), o.environmentOf()...)
	}
	cmd.Stdin = input
	return runForOutput(ctx, cmd)
}

// runForOutput runs a program of ctx to its end and returns its stdout.
func runForOutput(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := childprocess.Run(cmd)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit):
		said := bytes.TrimSpace(talk.Bytes())
		if len(said) == 0 {
			return nil, fmt.Errorf("%s: %w", filepath.Base(cmd.Path), err)
		}
		return nil, errors.New(filepath.Base(cmd.Path) + ": " + string(said))
	case err != nil:
		return nil, fmt.Errorf("run %s: %w", filepath.Base(cmd.Path), err)
	}
	return out.Bytes(), nil
}

// CheckConfig runs a program of the node with --check-config and returns the lines of its stderr:
// errors and warnings, none if the configuration is good.
func (n *Node) CheckConfig(ctx context.Context, program string) (lines []string, err error) {
	cmd := exec.CommandContext(ctx, n.programPath(program), "--check-config", "-c", filepath.Join(n.IniDir(), program+".ini"))
	cmd.Env = n.programEnvironment()
	var talk bytes.Buffer
	cmd.Stderr = &talk
	err = childprocess.Run(cmd) // the exit status is 1 if there are errors
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	lines = linesOf(&talk)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return lines, fmt.Errorf("run %s: %w", program, err)
	}
	return lines, nil
}

// linesOf returns the lines of an output, without empty ones.
func linesOf(b *bytes.Buffer) (lines []string) {
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// DBTask runs a command of db-task, such as --check, with the value of its option, and returns its stdout. talk gets its stderr. The error is
// an *exec.ExitError if its exit status is not 0.
func (n *Node) DBTask(ctx context.Context, talk io.Writer, option string, value ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, n.programPath("db-task"), append([]string{"-c", filepath.Join(n.IniDir(), "db-task.ini"), option}, value...)...)
	cmd.Env = n.programEnvironment()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, talk
	err := childprocess.Run(cmd)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("db-task %s: %w", option, err)
	}
	return out.Bytes(), err
}

// Summary runs a command of db-task and reads its line of JSON into value.
func (n *Node) Summary(ctx context.Context, talk io.Writer, value any, option string, more ...string) error {
	text, err := n.DBTask(ctx, talk, option, more...)
	if err == nil {
		err = json.Unmarshal(text, value)
	}
	if err != nil {
		return fmt.Errorf("db-task %s: %w", option, err)
	}
	return nil
}

// Lines runs a program of this installation to its end and returns the lines of its stdout, and then those of its
// stderr. The error is an *exec.ExitError if its exit status is not 0.
func Lines(ctx context.Context, program string, args ...string) ([]string, error) {
	path := program
	if dir, err := Programs(); err == nil {
		path = filepath.Join(dir, program)
	}
	if _, err := exec.LookPath(path); err != nil {
		if path, err = exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("run %s: %w", program, err)
		}
	}
	cmd := exec.CommandContext(ctx, path, args...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := childprocess.Run(cmd)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return append(linesOf(&out), linesOf(&talk)...), err
}

// Version returns the line that a program prints with --version.
func Version(ctx context.Context, dir, program string) (string, error) {
	text, err := runForOutput(ctx, exec.CommandContext(ctx, filepath.Join(dir, program), "--version"))
	return string(bytes.TrimSpace(text)), err
}

// Names are the programs that a node starts.
func Names() []string { return slices.Clone(programs) }
