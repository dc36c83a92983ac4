// Package conformance holds the acceptance suite of db-task's operations: requests
// and answers as a client of its stdin sees them, on every backend alike.
//
// Most cases are scripts in testdata, a file for each operation. A line that
// begins with > is a request, with < the answer that is expected, with ! the
// phrases that a refusal must contain:
//
//	== the same id again
//	> SITE_NEW {"id":"a","urls":["http://a.test/"]}
//	< {"errorCode":0,"errorMessage":"","statuses":["a"]}
//	> SITE_NEW {"id":"a","urls":["http://a.test/"]}
//	< {"errorCode":2020,"errorMessage":"Duplicate site","statuses":[null]}
//
// README.md in testdata tells the rest of the form. What needs more than
// requests and answers (faults, hostile input, concurrency) is written in Go on
// the same Node.
//
// The package has no code but its tests. The expectations come from the
// specification: docs/spec/objects.md 1-5, docs/spec/storage.md 4 and 6.2, docs/spec/DECISIONS.md 4, 5.
package conformance
