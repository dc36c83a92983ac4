package repository

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/files"
)

const (
	branch   = "refs/heads/archive"
	gitTime  = 30 * time.Minute // most time of one run of git
	mostTalk = 4 << 10          // bytes of an error of git
)

// settings apply to every run of git: nothing of the user's or the machine's settings, no hooks, no
// conversion of bytes, everything synced.
var settings = []string{
	"-c", "core.hooksPath=/dev/null", "-c", "core.attributesFile=/dev/null", "-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync",
	"-c", "gc.auto=2000", "-c", "gc.autoDetach=false", "-c", "gc.packRefs=false", "-c", "core.logAllRefUpdates=false", "-c", "protocol.allow=never",
	"-c", "fastimport.unpackLimit=20", "-c", "pack.threads=1",
}

// git is one bare repository.
type git struct{ dir string }

// newCommand returns a run of git. guards are locked files that git keeps open: the locks are held until
// git has ended, also if this process dies first.
func (g git) newCommand(ctx context.Context, guards []*os.File, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append(append([]string{}, settings...), args...)...)
	cmd.Dir = filepath.Dir(g.dir)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "TZ=UTC", "GIT_DIR=" + g.dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
	}
	cmd.ExtraFiles = guards
	return cmd
}

// runCommand runs git and returns its output.
func (g git) runCommand(ctx context.Context, guards []*os.File, input io.Reader, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := g.streamCommand(ctx, guards, input, &out, args...)
	return out.Bytes(), err
}

// streamCommand runs git with input and output.
func (g git) streamCommand(ctx context.Context, guards []*os.File, input io.Reader, output io.Writer, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := g.newCommand(ctx, guards, args...)
	talk := &short{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, output, talk
	cmd.WaitDelay = time.Minute // a busy machine may read the rest of the output long after the end of git
	err := childprocess.Run(cmd)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("the program git is not installed; install the package git")
	}
	if err != nil {
		return fmt.Errorf("git %s in %s: %w: %s", args[0], g.dir, err, strings.TrimSpace(talk.String()))
	}
	return nil
}

// short keeps the beginning of what is written.
type short struct{ bytes.Buffer }

func (s *short) Write(p []byte) (int, error) {
	if room := mostTalk - s.Len(); room > 0 {
		s.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// createRepository makes an empty repository.
func (g git) createRepository(ctx context.Context) error {
	_, err := g.runCommand(ctx, nil, nil, "init", "--quiet", "--bare", "--template=", "--initial-branch=archive", g.dir)
	return err
}

// readTip returns the id of the newest commit, "" without one. It usually reads one small file.
func (g git) readTip(ctx context.Context) (string, error) {
	text, err := os.ReadFile(filepath.Join(g.dir, branch))
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if _, err := os.Stat(filepath.Join(g.dir, "packed-refs")); err != nil {
		return "", nil
	}
	out, err := g.runCommand(ctx, nil, nil, "for-each-ref", "--format=%(objectname)", branch)
	return strings.TrimSpace(string(out)), err
}

// version is a commit of git and what its message says.
type version struct {
	id, tag string
	number  int64
}

// commitMessage is that of every commit of a version.
func (v version) commitMessage() string { return fmt.Sprintf("%s\n\nNumber: %d\n", v.tag, v.number) }

// logFormat has the fields of a version, read by parseVersion.
const logFormat = "%H%x00%s%x00%b%x01"

func parseVersion(text string) (v version, err error) {
	fields := strings.SplitN(strings.TrimLeft(text, "\n"), "\x00", 3)
	if len(fields) != 3 {
		return v, fmt.Errorf("commit %.80q has another form", text)
	}
	digits, found := strings.CutPrefix(strings.TrimSpace(fields[2]), "Number: ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !found || err != nil {
		return v, fmt.Errorf("commit %s has no number in its message", fields[0])
	}
	return version{fields[0], fields[1], n}, nil
}

// newestVersion returns what the message of a commit says.
func (g git) newestVersion(ctx context.Context, id string) (version, error) {
	out, err := g.runCommand(ctx, nil, nil, "log", "-1", "--format="+logFormat, id)
	if err != nil {
		return version{}, err
	}
	return parseVersion(strings.TrimSuffix(strings.TrimSpace(string(out)), "\x01"))
}

// listVersions returns the last commit of each version, the newest version first.
func (g git) listVersions(ctx context.Context) (list []version, err error) {
	out, err := g.runCommand(ctx, nil, nil, "log", "--first-parent", "--format="+logFormat, branch)
	if err != nil {
		return nil, err
	}
	for text := range strings.SplitSeq(strings.TrimSpace(string(out)), "\x01") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		v, err := parseVersion(text)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 || list[len(list)-1].tag != v.tag {
			list = append(list, v)
		}
	}
	return list, nil
}

// tagRef returns the name of the tag of a version in git, which forbids some characters of it.
func tagRef(tag string) string {
	return "refs/tags/" + strings.NewReplacer("%", "%25", ":", "%3A", "[", "%5B").Replace(tag)
}

// object is a file in a commit.
type object struct {
	id, name string
	size     int64
}

// listObjects returns the files of a commit below a folder, "" for all, sorted by name. It is empty for a
// folder that the commit does not have.
func (g git) listObjects(ctx context.Context, id, folder string) (list []object, err error) {
	out, err := g.runCommand(ctx, nil, nil, "ls-tree", "-r", "-l", "-z", "--full-tree", id+":"+folder)
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if line == "" {
			continue
		}
		head, name, _ := strings.Cut(line, "\t")
		fields := strings.Fields(head)
		if len(fields) != 4 || fields[1] != "blob" {
			return nil, fmt.Errorf("git ls-tree in %s: unexpected line %.200q", g.dir, line)
		}
		size, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("git ls-tree in %s: %w", g.dir, err)
		}
		list = append(list, object{fields[2], name, size})
	}
	return list, nil
}

// forEachObject calls do with every object, which must be files, and a reader of its bytes.
func (g git) forEachObject(ctx context.Context, objects []object, do func(o object, content io.Reader) error) error {
	if len(objects) == 0 {
		return nil
	}
	var ids strings.Builder
	for _, o := range objects {
		ids.WriteString(o.id + "\n")
	}
	in, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { // ends with git
		err := g.streamCommand(ctx, nil, strings.NewReader(ids.String()), out, "cat-file", "--batch")
		out.CloseWithError(err)
		ended <- err
	}()
	err := readBatch(bufio.NewReaderSize(in, 1<<16), objects, do)
	_ = in.CloseWithError(err) // git ends, if it still writes
	if stopped := <-ended; err == nil {
		err = stopped
	}
	return err
}

// readBatch reads the answers of git cat-file --batch.
func readBatch(r *bufio.Reader, objects []object, do func(o object, content io.Reader) error) error {
	for _, o := range objects {
		head, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("read object %s: %w", o.id, err)
		}
		fields := strings.Fields(head)
		if len(fields) != 3 || fields[0] != o.id || fields[1] != "blob" || fields[2] != strconv.FormatInt(o.size, 10) {
			return fmt.Errorf("read object %s: unexpected answer %.100q", o.id, head)
		}
		content := io.LimitReader(r, o.size)
		if err := do(o, content); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, content); err != nil {
			return err
		}
		if _, err := r.Discard(1); err != nil {
			return fmt.Errorf("read object %s: %w", o.id, err)
		}
	}
	return nil
}

// removeLocks removes the lock files of references that a killed git has left. The caller holds the lock of the
// domain and its guard, so no git works in the repository.
func (g git) removeLocks() error {
	for _, name := range []string{branch, "HEAD", "packed-refs", "config"} {
		if err := files.IgnoreMissing(os.Remove(filepath.Join(g.dir, name+".lock"))); err != nil {
			return err
		}
	}
	tags := filepath.Join(g.dir, "refs", "tags")
	list, err := os.ReadDir(tags)
	for _, e := range list {
		if strings.HasSuffix(e.Name(), ".lock") {
			err = errors.Join(err, os.Remove(filepath.Join(tags, e.Name())))
		}
	}
	return files.IgnoreMissing(err)
}

// removeLeftovers removes what a killed git has left. The caller holds the lock of the domain and its guard.
func (g git) removeLeftovers() error {
	return filepath.WalkDir(g.dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() && len(base) == 2 && filepath.Base(filepath.Dir(name)) == "objects" {
			return filepath.SkipDir
		}
		if !entry.IsDir() && (strings.HasSuffix(base, ".lock") || strings.HasPrefix(base, "tmp_") || strings.HasPrefix(base, "fast_import_crash_")) {
			return os.Remove(name)
		}
		return nil
	})
}
