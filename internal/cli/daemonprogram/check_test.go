package daemonprogram

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runCheck runs --check-config in a separate process.
func runCheck(t *testing.T, path string, environment ...string) (good bool, stdout, stderr string) {
	t.Helper()
	c := program(t, t.TempDir(), "-c", path, "--check-config")
	c.Env = append(c.Env, environment...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if err != nil && c.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, errs.String())
	}
	return err == nil, out.String(), errs.String()
}

// programsIn creates a folder with the programs that an ini file names.
func programsIn(t *testing.T, folder string, names ...string) string {
	t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestCheckConfig(t *testing.T) {
	bin := programsIn(t, t.TempDir(), "db-task", "crawler-task", "processor-task")
	if err := os.WriteFile(filepath.Join(bin, "text"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(bin, "text")
	fine := "[Application]\ndata_dir = d\nlog = x.log\n" +
		"[SitesManager]\nDRCEDBAppName = " + bin + "/db-task -c 'a b.ini'\nDRCEHost = there\n" +
		"[BatchTasksManager]\nDRCECrawlerAppName = " + bin + "/crawler-task\nDRCEDBAppName = " + bin + "/db-task\n" +
		"[BatchTasksManagerRealTime]\nDRCECrawlerAppName = " + bin + "/crawler-task\nDRCEProcessorAppName = " + bin + "/processor-task\n" +
		"[BatchTasksManagerProcess]\nDRCEDBAppName = " + bin + "/db-task\nDRCEProcessorAppName = " + bin + "/processor-task\n"
	cases := []struct {
		name, text string
		env        []string
		good       bool
		stdout     []string
		stderr     []string
	}{
		{"fine", fine, nil, true, []string{"data_dir = ", "; default\nStatusPort = 5580", "; it has no effect here\nDRCEHost = there", "line 2"}, nil},
		{"environment variable", fine, []string{"DC_StatusServer_StatusPort=7"}, true, []string{"; environment variable DC_StatusServer_StatusPort\nStatusPort = 7"}, nil},
		{"unknown", fine + "[StatusServre]\nx = 1\n[Environment]\nslots_bd = 1\n", nil, true, []string{"unknown, without effect: slots_bd"},
			[]string{"section [StatusServre] is unknown; did you mean StatusServer?", "slots_bd of section [Environment] is unknown; did you mean slots_db?"}},
		{"wrong values", fine + "[Environment]\nslots_db = no\nslots_crawl = 0\n", nil, false, nil,
			[]string{`[Environment] slots_db = "no" is not a whole number from 1 to 1000`, "[Environment] slots_crawl"}},
		{"no program", strings.ReplaceAll(fine, "/crawler-task", "/crawler"), nil, false, nil, []string{"[BatchTasksManager] DRCECrawlerAppName", "no such file"}},
		{"not executable", strings.ReplaceAll(fine, "/crawler-task", "/text"), nil, false, nil, []string{"[BatchTasksManager] DRCECrawlerAppName", "permission denied"}},
		{"folder is a file", strings.Replace(fine, "data_dir = d", "data_dir = "+file, 1), nil, false, nil, []string{"[Application] data_dir: " + file + " is not a folder"}},
		{"below a file", fine, []string{"DC_Environment_spool_dir=" + file + "/sub"}, false, nil, []string{"[Environment] spool_dir"}},
		{"classes", strings.Replace(fine, "[Application]\n", "[Application]\ninstantiateSequence = AdminInterfaceServer, SiteManager, AdminInterfaceServer\n", 1), nil, false, nil,
			[]string{"class SiteManager is unknown; did you mean SitesManager?", "AdminInterfaceServer is there twice"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			folder := t.TempDir()
			path := write(t, folder, tc.text)
			good, stdout, stderr := runCheck(t, path, tc.env...)
			if good != tc.good {
				t.Errorf("good %v\n%s", good, stderr)
			}
			for _, want := range tc.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("no %q in\n%s", want, stdout)
				}
			}
			for _, want := range tc.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("no %q in\n%s", want, stderr)
				}
			}
			if tc.good && tc.stderr == nil && stderr != "" {
				t.Errorf("stderr: %s", stderr)
			}
			if files, _ := os.ReadDir(folder); len(files) != 1 {
				t.Errorf("it created %v", files)
			}
		})
	}
}

// The output of --check-config is an ini file with the same meaning.
func TestCheckedFileHasTheSameMeaning(t *testing.T) {
	shipped, err := filepath.Abs(filepath.Join("..", "..", "..", "ini", "dc-daemon.ini"))
	if err != nil {
		t.Fatal(err)
	}
	_, stdout, _ := runCheck(t, shipped) // the programs may not be built
	again := write(t, t.TempDir(), stdout)
	_, second, _ := runCheck(t, again)
	meaning := func(text string) string {
		var lines []string
		for _, line := range strings.Split(text, "\n") {
			if !strings.HasPrefix(line, ";") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "\n")
	}
	if meaning(stdout) != meaning(second) || !strings.Contains(stdout, "BatchDefaultWhereSites = `State`=1") {
		t.Errorf("first:\n%s\nsecond:\n%s", stdout, second)
	}
}
