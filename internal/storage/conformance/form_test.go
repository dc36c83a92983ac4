package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/wire"
)

// operations are all that clients may ask db-task for.
func operations() (all []wire.Op) {
	for code := range 100 {
		if op := wire.Op(code); op.Client() && op != wire.BatchRun {
			all = append(all, op)
		}
	}
	return all
}

// An operation that is asked by its code is answered by code and 100 (docs/spec/DECISIONS.md
// 1.2), and an empty list is a request like any other.
func TestAnswersByCode(t *testing.T) {
	forEachBackend(t, func(t *testing.T, n *Node) {
		for _, op := range operations() {
			if !op.ListRequest() {
				continue
			}
			answer, err := n.job.Run(context.Background(), json.RawMessage(fmt.Sprintf("[%d,[]]", int(op))))
			if err != nil {
				t.Errorf("%s ends the task: %v", op, err)
				continue
			}
			raw, err := json.Marshal(answer)
			n.must(err)
			got := string(raw)
			list := fmt.Sprintf("[%d,[]]", int(op)+wire.ResponseOffset)
			general := fmt.Sprintf(`[%d,{"errorCode":0,"errorMessage":"","statuses":[]}]`, int(op)+wire.ResponseOffset)
			if got != list && got != general {
				t.Errorf("%s of an empty list: %s", op, got)
			}
		}
	})
}

// A wrong object is refused with the operation's code and a reason, and nothing
// is changed by it.
func TestWrongObjects(t *testing.T) {
	forEachBackend(t, func(t *testing.T, n *Node) {
		attacked(n)
		before := n.fingerprint()
		for _, op := range operations() {
			wrong := []string{`7`, `"text"`, `null`, `true`}
			if op.ListRequest() {
				wrong = append(wrong, `{}`, `[7]`, `[[]]`, `["text"]`)
			} else {
				wrong = append(wrong, `[7]`, `[[]]`)
			}
			for _, object := range wrong {
				answer := n.call(op.String(), object)
				switch r, isRefusal := refused(answer); {
				case strings.Contains(answer, "is not served yet"):
					t.Errorf("%s is not served yet", op)
				case !isRefusal || r.ErrorCode == 0 || r.ErrorMessage == "":
					t.Errorf("%s %s: %s", op, object, answer)
				}
			}
		}
		if changes := before.changes(n.fingerprint()); changes != nil {
			t.Errorf("afterwards %v", changes)
		}
	})
}

// longID is in one sample: no site can have an id of 35 characters (docs/spec/DECISIONS.md 4).
const longID = "b85ab149a528bd0a024fa0f43e80b5fc000"

// All sample requests of the original's users are accepted (docs/spec/DECISIONS.md 1.7): none
// is refused. The samples are not part of this repository.
func TestSampleRequests(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "shared", "compat")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the samples are not here")
	}
	for _, op := range operations() {
		samples, err := filepath.Glob(filepath.Join(folder, op.String(), "*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(samples) == 0 {
			continue // the original had none
		}
		t.Run(op.String(), func(t *testing.T) {
			forEachBackendWith(t, map[string]string{"SQLCustom": "read"}, func(t *testing.T, n *Node) {
				for _, sample := range samples {
					raw, err := os.ReadFile(sample)
					n.must(err)
					answer, err := n.ask(context.Background(), op.String(), strings.TrimPrefix(string(raw), "\xef\xbb\xbf"))
					if strings.Contains(string(raw), longID) && strings.Contains(answer, "is not a site id") {
						continue
					}
					if err != nil || strings.Contains(answer, `"refused":true`) {
						t.Errorf("%s: %v %.300s", filepath.Base(sample), err, answer)
					}
				}
			})
		})
	}
}
