package task

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// asBinary is the environment variable that turns the test binary into a task program.
const asBinary = "TASK_TEST_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(asBinary) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		os.Exit(Main(ctx, JobFunc(obey), Options{Name: "test-task"}))
	}
	os.Exit(m.Run())
}

// obey is a job that does what the request says; it echoes any other request.
func obey(ctx context.Context, request json.RawMessage) (any, error) {
	switch string(request) {
	case `"refuse"`:
		return nil, errors.New("refused")
	case `"critical"`:
		return nil, fmt.Errorf("open: %w", Critical(errors.New("no database")))
	case `"panic"`:
		panic("hostile page")
	case `"panic in marshal"`:
		return bomb{}, nil
	case `"unmarshallable"`:
		return make(chan int), nil
	case `"broken raw"`:
		return json.RawMessage(`{"a":`), nil
	case `"pretty raw"`:
		return json.RawMessage("{\n  \"html\": \"<b>\\n</b>\"\n}"), nil
	case `"nothing"`:
		return nil, nil
	case `"wait"`:
		<-ctx.Done()
		return "handed back", nil
	}
	return request, nil
}

type bomb struct{}

func (bomb) MarshalJSON() ([]byte, error) { panic("tick") }

// The exit status of a critical error tells a fault of the machine from one that the request may
// have caused.
func TestMainTellsMachineFromRequest(t *testing.T) {
	for _, machine := range []bool{true, false} {
		status := Main(context.Background(), JobFunc(obey), Options{
			In: strings.NewReader(`"critical"`), Out: io.Discard, Err: io.Discard,
			Machine: func(err error) bool { return machine && err.Error() == "open: no database" },
		})
		if want := map[bool]int{true: ExitCritical, false: ExitRequest}[machine]; status != want {
			t.Errorf("a fault of the machine: %v: status %d, want %d", machine, status, want)
		}
	}
}

func errorLine(message string) string {
	b, _ := json.Marshal(plainErrorAnswer(nil, errors.New(message)))
	return string(b)
}

func TestMainAnswers(t *testing.T) {
	const looking = " looking for beginning of value"
	tests := []struct {
		name, in string
		max      int64
		want     []string
		status   int
	}{
		{name: "empty input"},
		{name: "only white space", in: " \n\t\r\n"},
		{name: "one value, no newline", in: `{"a":1}`, want: []string{`{"a":1}`}},
		{name: "one value per line", in: "1\n2\n3\n", want: []string{"1", "2", "3"}},
		{name: "joined values", in: `{"a":1}[2]"x"null{}`, want: []string{`{"a":1}`, `[2]`, `"x"`, `null`, `{}`}},
		{name: "a value over several lines", in: "{\n \"a\":\n [1,\n 2]}\n{}", want: []string{`{"a":[1,2]}`, `{}`}},
		{name: "windows lines", in: "1\r\n{}\r\n", want: []string{"1", "{}"}},
		{name: "number at the end", in: "12", want: []string{"12"}},
		{name: "refused request", in: `"refuse" 2`, want: []string{errorLine("refused"), "2"}},
		{name: "panic", in: `"panic" 2`, want: []string{errorLine("internal error: hostile page"), "2"}},
		{name: "panic while marshalling", in: `"panic in marshal" 2`, want: []string{errorLine("internal error: tick"), "2"}},
		{name: "answer that cannot be encoded", in: `"unmarshallable" 2`,
			want: []string{errorLine("answer cannot be written as JSON: json: unsupported type: chan int"), "2"}},
		{name: "broken raw answer", in: `"broken raw" 2`,
			want: []string{errorLine("answer cannot be written as JSON: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input"), "2"}},
		{name: "raw answer over lines", in: `"pretty raw"`, want: []string{`{"html":"<b>\n</b>"}`}},
		{name: "nil answer", in: `"nothing"`, want: []string{"null"}},
		{name: "critical ends without an answer", in: `1 "critical" 2`, want: []string{"1"}, status: ExitCritical},
		{name: "text between lines", in: "1\nhello there\n2\n",
			want: []string{"1", errorLine("input byte 2: invalid character 'h'" + looking), "2"}, status: ExitCritical},
		{name: "garbage takes the rest of its line", in: "{\"a\":nope} 5\n2",
			want: []string{errorLine("input byte 6: invalid character 'o' in literal null (expecting 'u')"), "2"}, status: ExitCritical},
		{name: "newline inside a string", in: "\"ab\n2",
			want: []string{errorLine("input byte 3: invalid character '\\n' in string literal"), "2"}, status: ExitCritical},
		{name: "surplus bracket", in: "1}\n2",
			want: []string{"1", errorLine("input byte 1: invalid character '}'" + looking), "2"}, status: ExitCritical},
		{name: "error on a later line of a value", in: "{\"a\":\n}\n3",
			want: []string{errorLine("input byte 6: invalid character '}'" + looking), "3"}, status: ExitCritical},
		{name: "two bad lines", in: "x\ny\n3",
			want: []string{errorLine("input byte 0: invalid character 'x'" + looking),
				errorLine("input byte 2: invalid character 'y'" + looking), "3"}, status: ExitCritical},
		{name: "bad line without an end", in: "1 x", want: []string{"1", errorLine("input byte 2: invalid character 'x'" + looking)}, status: ExitCritical},
		{name: "truncated value", in: `{"a":[1`, want: []string{errorLine("input byte 7: input ends inside a value")}, status: ExitCritical},
		{name: "value of the largest size", in: "[12345]\n[1]", max: 7, want: []string{"[12345]", "[1]"}},
		{name: "number of the largest size", in: "1234567\n1", max: 7, want: []string{"1234567", "1"}},
		{name: "value beyond the largest size", in: "1 [123456]\n1", max: 7,
			want: []string{"1", errorLine("input byte 1: request is larger than the limit")}, status: ExitCritical},
		{name: "endless value", in: `{"a":"` + strings.Repeat("x", 5000), max: 1000,
			want: []string{errorLine("input byte 0: request is larger than the limit")}, status: ExitCritical},
		{name: "endless white space", in: strings.Repeat(" ", 5000) + "1", max: 1000,
			want: []string{errorLine("input byte 0: request is larger than the limit")}, status: ExitCritical},
		{name: "long bad line", in: strings.Repeat("x", 300_000) + "\n2",
			want: []string{errorLine("input byte 0: invalid character 'x'" + looking), "2"}, status: ExitCritical},
		{name: "too deep", in: strings.Repeat("[", 20_000) + "\n2",
			want: []string{errorLine("input byte 10000: invalid character '[' exceeded max depth"), "2"}, status: ExitCritical},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			status := Main(context.Background(), JobFunc(obey), Options{
				Name: "test", In: strings.NewReader(tt.in), Out: &out, Err: &errs, MaxRequest: tt.max})
			want := ""
			for _, line := range tt.want {
				want += line + "\n"
			}
			if out.String() != want {
				t.Errorf("answers\n%swant\n%s", out.String(), want)
			}
			if status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			if critical := strings.Contains(tt.in, "critical"); critical != (errs.String() == "test: open: no database\n") {
				t.Errorf("standard error: %q", errs.String())
			}
		})
	}
}

func TestMainAsksTheCallerForErrorAnswers(t *testing.T) {
	var out bytes.Buffer
	status := Main(context.Background(), JobFunc(obey), Options{
		In: strings.NewReader("\"refuse\"\n?\n"), Out: &out,
		ErrorAnswer: func(request json.RawMessage, err error) any {
			var input *InputError
			if errors.As(err, &input) {
				return []any{"input", input.Offset, request == nil}
			}
			return make(chan int) // cannot be encoded: Main uses the default
		}})
	want := errorLine("refused") + "\n" + `["input",9,true]` + "\n"
	if out.String() != want || status != ExitCritical {
		t.Errorf("status %d, answers\n%swant\n%s", status, out.String(), want)
	}
}

func TestMainLogsThePanicsStack(t *testing.T) {
	var log bytes.Buffer
	Main(context.Background(), JobFunc(obey), Options{
		In: strings.NewReader(`"panic"`), Out: io.Discard, Log: slog.New(slog.NewJSONHandler(&log, nil))})
	if !strings.Contains(log.String(), "task.obey") {
		t.Errorf("no stack in the log: %s", log.String())
	}
}

// chat runs Main on pipes. ask sends text and returns one line of the answer.
type chat struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Reader
	status chan int
}

func newChat(t *testing.T, ctx context.Context, job Job) *chat {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &chat{t: t, in: inW, out: bufio.NewReader(outR), status: make(chan int, 1)}
	go func() {
		c.status <- Main(ctx, job, Options{In: inR, Out: outW})
		outW.Close()
	}()
	t.Cleanup(func() { inW.Close() })
	return c
}

func (c *chat) ask(text string) string {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text); err != nil {
		c.t.Fatal(err)
	}
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return line
}

// Main answers while the input stays open: the executor sends the next request after the
// answer.
func TestMainAnswersBeforeTheNextRequest(t *testing.T) {
	c := newChat(t, context.Background(), JobFunc(obey))
	for _, text := range []string{"{}", "\n[1]\n", "7 ", "x\n", "\n\n\"s\"\n"} {
		if line := c.ask(text); line == "" {
			t.Fatal("no answer")
		}
	}
	c.in.Close()
	if status := <-c.status; status != ExitCritical { // the x
		t.Errorf("status %d", status)
	}
}

func TestMainEndsWithTheContext(t *testing.T) {
	t.Run("while reading", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		c := newChat(t, ctx, JobFunc(obey))
		c.ask("1\n")
		cancel()
		if status := <-c.status; status != ExitTrusted {
			t.Errorf("status %d", status)
		}
	})
	t.Run("while the job runs", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		begun := make(chan bool)
		c := newChat(t, ctx, JobFunc(func(ctx context.Context, _ json.RawMessage) (any, error) {
			begun <- true
			<-ctx.Done()
			return "handed back", nil
		}))
		if _, err := io.WriteString(c.in, "1 2 "); err != nil {
			t.Fatal(err)
		}
		<-begun
		cancel()
		rest, err := io.ReadAll(c.out)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(rest); got != "\"handed back\"\n" { // and nothing for the 2
			t.Errorf("answers %q", got)
		}
		if status := <-c.status; status != ExitTrusted {
			t.Errorf("status %d", status)
		}
	})
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

func TestMainInputFails(t *testing.T) {
	var out bytes.Buffer
	in := io.MultiReader(strings.NewReader("1 {"), failingReader{errors.New("disk gone")})
	status := Main(context.Background(), JobFunc(obey), Options{In: in, Out: &out})
	if want := "1\n" + errorLine("input byte 3: disk gone") + "\n"; out.String() != want || status != ExitCritical {
		t.Errorf("status %d, answers %q, want %q", status, out.String(), want)
	}
}

// startBinary starts the test binary as a task program.
func startBinary(t *testing.T) (cmd *exec.Cmd, in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(exe)
	cmd.Env = append(os.Environ(), asBinary+"=1")
	if in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	return cmd, in, out
}

func TestBinaryEndsWithStatusOneOnABrokenOutput(t *testing.T) {
	cmd, in, out := startBinary(t)
	out.Close()
	io.WriteString(in, "1\n")
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != ExitCritical {
		t.Errorf("exit code %d (%v), want %d", code, err, ExitCritical)
	}
}

func TestBinaryHandsBackItsAnswerOnSIGTERM(t *testing.T) {
	cmd, in, out := startBinary(t)
	lines := bufio.NewReader(out)
	io.WriteString(in, "1\n")
	if line, err := lines.ReadString('\n'); line != "1\n" {
		t.Fatalf("answer %q, %v", line, err)
	}
	io.WriteString(in, "\"wait\"\n")
	cmd.Process.Signal(syscall.SIGTERM) // standard input stays open
	rest, _ := io.ReadAll(lines)
	// The signal may arrive before the request; then there is no answer.
	if got := string(rest); got != "" && got != "\"handed back\"\n" {
		t.Errorf("answer %q", got)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func FuzzMain(f *testing.F) {
	seeds := []string{"", "1 2", "{\"a\":1}\n{", "x\n{}\n", "\"refuse\"\n\"panic\"[", "[[[\n]]]", "nul\nl", "1}\n\n{\"b\"\n:2}"}
	if len(seeds) == 0 {
		f.Fatal("no seeds")
	}
	for _, s := range seeds {
		f.Add([]byte(s), int64(20))
		f.Add([]byte(s), int64(1<<20))
	}
	f.Fuzz(func(t *testing.T, in []byte, max int64) {
		calls, errorAnswers := 0, 0
		job := JobFunc(func(_ context.Context, r json.RawMessage) (any, error) {
			calls++
			if !json.Valid(r) {
				t.Errorf("the job got %q", r)
			}
			return r, nil
		})
		var out bytes.Buffer
		last := int64(-1)
		status := Main(context.Background(), job, Options{In: bytes.NewReader(in), Out: &out, MaxRequest: max,
			ErrorAnswer: func(r json.RawMessage, err error) any {
				errorAnswers++
				var input *InputError
				if !errors.As(err, &input) || r != nil {
					t.Errorf("error answer for %q, %v", r, err)
					return nil
				}
				if input.Offset < 0 || input.Offset > int64(len(in)) || input.Offset < last {
					t.Errorf("offset %d after %d in %d bytes", input.Offset, last, len(in))
				}
				last = input.Offset
				var syntax *json.SyntaxError
				// The character the parser names is the one at the offset.
				if errors.As(err, &syntax) && strings.HasPrefix(syntax.Error(), "invalid character '") {
					if c := in[input.Offset]; c > ' ' && c < 127 && c != '\'' && c != '"' && c != '\\' &&
						!strings.HasPrefix(syntax.Error(), fmt.Sprintf("invalid character '%c'", c)) {
						t.Errorf("%v, but the byte there is %q", err, c)
					}
				}
				return "error"
			}})
		if lines := bytes.Count(out.Bytes(), []byte("\n")); lines != calls+errorAnswers {
			t.Errorf("%d lines for %d values and %d errors", lines, calls, errorAnswers)
		}
		if (status == ExitCritical) != (errorAnswers > 0) {
			t.Errorf("status %d with %d errors", status, errorAnswers)
		}
		// Without errors, a plain decoder finds the same values.
		if errorAnswers == 0 {
			dec := json.NewDecoder(bytes.NewReader(in))
			n := 0
			for {
				var v json.RawMessage
				if err := dec.Decode(&v); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("accepted %q: %v", in, err)
				}
				n++
			}
			if n != calls {
				t.Errorf("%d values answered, %d in %q", calls, n, in)
			}
		}
	})
}

func BenchmarkMainSmallRequests(b *testing.B) {
	in := strings.NewReader(strings.Repeat(`{"id":"0123456789abcdef","n":1}`+"\n", b.N))
	job := JobFunc(func(_ context.Context, r json.RawMessage) (any, error) { return r, nil })
	b.ReportAllocs()
	b.ResetTimer()
	if status := Main(context.Background(), job, Options{In: in, Out: io.Discard}); status != 0 {
		b.Fatal(status)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
