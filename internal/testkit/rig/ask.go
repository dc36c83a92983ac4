package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"hce/dc/internal/childprocess"
)

// response is the ClientResponse of docs/spec/objects.md 3.1, as one node sends it.
type response struct {
	ErrorCode    int    `json:"errorCode"`
	ErrorMessage string `json:"errorMessage"`
	ItemsList    []struct {
		ErrorCode    any             `json:"errorCode"` // a number; a text such as "0;0" of several nodes
		ErrorMessage string          `json:"errorMessage"`
		ItemObject   json.RawMessage `json:"itemObject"`
	} `json:"itemsList"`
	ClientCode    int    `json:"error_code"`
	ClientMessage string `json:"error_message"`
}

// isFailure reports whether a code, or one of the joined codes of several nodes, is not 0.
func isFailure(code any) bool { return strings.Trim(fmt.Sprint(code), "0;") != "" }

// Ask runs dc-client with one command and decodes the itemObject of the first node into
// answer (a pointer, or nil). The request goes through a file, like an operator's. An
// errorCode at any level, also of one node of several, is an error.
func (r *Rig) Ask(ctx context.Context, command string, request, answer any) error {
	text, err := json.MarshalIndent(request, "", "  ")
	if err != nil {
		return fmt.Errorf("send %s: %w", command, err)
	}
	file, err := os.CreateTemp("", "dc-request-*.json")
	if err != nil {
		return fmt.Errorf("send %s: %w", command, err)
	}
	defer os.Remove(file.Name())
	if _, err = file.Write(text); err == nil {
		err = file.Close()
	}
	if err != nil {
		return fmt.Errorf("send %s: %w", command, err)
	}
	out, err := r.runProgram(ctx, "dc-client", "--command", command, "--file", file.Name())
	// dc-client reports its own failure by exit code and in its JSON, which is more
	// precise.
	var got response
	if jsonErr := json.Unmarshal(out, &got); jsonErr != nil {
		return fmt.Errorf("send %s: %w", command, errors.Join(err, jsonErr))
	}
	switch {
	case got.ClientCode != 0 || got.ClientMessage != "":
		return fmt.Errorf("send %s: dc-client: %s (%d)", command, got.ClientMessage, got.ClientCode)
	case err != nil:
		return fmt.Errorf("send %s: %w", command, err)
	case got.ErrorCode != 0:
		return fmt.Errorf("send %s: %s (%d)", command, got.ErrorMessage, got.ErrorCode)
	case len(got.ItemsList) == 0:
		return fmt.Errorf("send %s: no node answered", command)
	}
	for _, item := range got.ItemsList {
		if isFailure(item.ErrorCode) {
			return fmt.Errorf("send %s: %s (%v)", command, item.ErrorMessage, item.ErrorCode)
		}
	}
	item := got.ItemsList[0]
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(item.ItemObject, answer); err != nil {
		return fmt.Errorf("send %s: %w", command, err)
	}
	return nil
}

// Stat returns the statistical variables of a manager with dc-admin STAT.
func (r *Rig) Stat(ctx context.Context, class string) (map[string]any, error) {
	out, err := r.runAdmin(ctx, "--cmd", "STAT", "--classes", class)
	if err != nil {
		return nil, fmt.Errorf("read statistics of %s: %w", class, err)
	}
	var pairs [][]json.RawMessage
	if err := json.Unmarshal(out, &pairs); err != nil {
		return nil, fmt.Errorf("read statistics of %s: %w", class, err)
	}
	if len(pairs) != 1 || len(pairs[0]) != 2 || string(bytes.TrimSpace(pairs[0][1])) != "0" {
		return nil, fmt.Errorf("read statistics of %s: not answered: %.200s", class, out)
	}
	var stat struct {
		Fields map[string]any `json:"fields"`
	}
	if err := json.Unmarshal(pairs[0][0], &stat); err != nil {
		return nil, fmt.Errorf("read statistics of %s: %w", class, err)
	}
	return stat.Fields, nil
}

func (r *Rig) runAdmin(ctx context.Context, args ...string) ([]byte, error) {
	return r.runProgram(ctx, "dc-admin", args...)
}

// runProgram runs an operator program and returns its stdout, even with an error.
func (r *Rig) runProgram(ctx context.Context, program string, args ...string) ([]byte, error) {
	return r.runWith(ctx, program, append([]string{"--config", r.iniOf(program)}, args...))
}

func (r *Rig) iniOf(program string) string { return filepath.Join(r.options.Ini, program+".ini") }

// runWith is run with all arguments of the program.
func (r *Rig) runWith(ctx context.Context, program string, args []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(r.options.Bin, program), args...)
	cmd.Env = r.Env()
	cmd.WaitDelay = time.Second
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := childprocess.Run(cmd)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		err = fmt.Errorf("%s: %w: %.500s", program, err, bytes.TrimSpace(talk.Bytes()))
	}
	return out.Bytes(), err
}
