// Package linesort sorts lines that do not fit into memory.
//
//	s := linesort.Sorter{Folder: scratch}
//	err := s.Add("b\n")
//	err = s.Each(func(line string) error { … })
package linesort

import (
	"bufio"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// runBytes is how many bytes of lines are sorted in memory.
const runBytes = 16 << 20

// Sorter writes sorted runs to files, and merges them.
type Sorter struct {
	Folder string // it exists; the caller removes it
	Most   int    // bytes of lines in memory; 0: 16 MiB
	lines  []string
	size   int
	runs   int // files of the folder
}

// Add adds a line, which ends with a newline.
func (s *Sorter) Add(line string) error {
	s.lines = append(s.lines, line)
	if s.size += len(line); s.size < cmp.Or(s.Most, runBytes) {
		return nil
	}
	return s.spillRun()
}

func (s *Sorter) runPath(run int) string { return filepath.Join(s.Folder, fmt.Sprint("run-", run)) }

// spillRun writes the lines in memory as a sorted run.
func (s *Sorter) spillRun() error {
	slices.Sort(s.lines)
	file, err := os.Create(s.runPath(s.runs))
	if err != nil {
		return err
	}
	s.runs++
	w := bufio.NewWriter(file)
	for _, line := range s.lines {
		_, _ = w.WriteString(line) // Flush has its error
	}
	s.lines, s.size = s.lines[:0], 0
	return errors.Join(w.Flush(), file.Close())
}

// Each calls f for all lines in order, and ends with its first error. It is called once, after the last Add.
func (s *Sorter) Each(f func(line string) error) error {
	if err := s.spillRun(); err != nil {
		return err
	}
	var merge merge
	defer func() {
		for _, r := range merge {
			_ = r.file.Close() // it was only read
		}
	}()
	for n := range s.runs {
		file, err := os.Open(s.runPath(n))
		if err != nil {
			return err
		}
		r := &run{file: file, text: bufio.NewReader(file)}
		merge = append(merge, r)
		if err := r.next(); err != nil {
			return err
		}
	}
	return merge.forEachLine(f)
}

// run is a sorted file that is being read.
type run struct {
	file *os.File
	text *bufio.Reader
	line string // "" at the end
}

func (r *run) next() (err error) {
	r.line, err = r.text.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// merge is a heap of runs. Those at their end come last.
type merge []*run

// forEachLine calls f for the lines of all runs in order.
func (m merge) forEachLine(f func(line string) error) error {
	heap.Init(&m)
	for len(m) > 0 && m[0].line != "" {
		if err := f(m[0].line); err != nil {
			return err
		}
		if err := m[0].next(); err != nil {
			return err
		}
		heap.Fix(&m, 0)
	}
	return nil
}

func (m merge) Len() int      { return len(m) }
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m merge) Less(i, j int) bool {
	return m[i].line != "" && (m[j].line == "" || m[i].line < m[j].line)
}

// Push and Pop belong to heap.Interface; the number of runs does not change.
func (m *merge) Push(any) {}
func (m *merge) Pop() any { return nil }
