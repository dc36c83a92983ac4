package pyregexp

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

// Short texts with huge programs are cheap in either engine. The bound on memory decides; the
// bound on time only ends a test that hangs.
func TestHostileSizes(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		linear bool // Linear accepts it
	}{
		"plain":                 {`^https?://\w+\.example/`, true},
		"a long repetition":     {`^[a-z]{1,1000}$`, true},
		"twenty repetitions":    {strings.Repeat(`(?:`+strings.Repeat("x", 50)+`){1000}`, 20), false},
		"thousand repetitions":  {strings.Repeat(`(?:[a-z]{30}){30}`, 1000), false},
		"nested":                {`(?:(?:(?:x{9}){9}){9}){9}`, false},
		"alternatives":          {`(?:` + strings.Repeat("ab|", 1000) + `c){500}`, true},
		"unicode classes":       {strings.Repeat(`[\p{L}\p{M}\p{N}_]`, 3000), false},
		"word classes":          {strings.Repeat(`\w`, 30_000), false},
		"repeated word classes": {strings.Repeat(`\w{1000}`, 300), false},
		"repeated optionals":    {strings.Repeat(`(?:x?){500}`, 500), false},
		"repeated captures":     {strings.Repeat(`(x(y)z){900}`, 400), false},
	} {
		t.Run(name, func(t *testing.T) {
			for dialect, compile := range map[string]func() bool{
				"linear":      func() bool { _, err := compileLinear(c.text); return err == nil },
				"Compile":     func() bool { re, err := Compile(c.text); return err == nil && re.MatchString("x") || err == nil },
				"CompileFold": func() bool { re, err := CompileFold(c.text); return err == nil && re.MatchString("X") || err == nil },
			} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start := time.Now()
				ok := compile()
				took := time.Since(start)
				runtime.ReadMemStats(&after)
				if n := after.TotalAlloc - before.TotalAlloc; n > 80<<20 || took > testwait.Deadline {
					t.Errorf("%s: %d MiB in %v", dialect, n>>20, took)
				}
				if dialect == "Linear" && ok != c.linear && !strings.HasPrefix(c.text, `\w`) {
					t.Errorf("compiled: %v", ok)
				}
			}
		})
	}
}
