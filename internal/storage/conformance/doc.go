// Package conformance is the acceptance suite of db-task's operations: requests and
// answers on its stdin and stdout, equal on every backend.
//
// Most cases are scripts in testdata, one file per operation. > begins a request, < its
// expected answer, ! the phrases of an expected refusal:
//
//	== the same id again
//	> SITE_NEW {"id":"a","urls":["http://a.test/"]}
//	< {"errorCode":0,"errorMessage":"","statuses":["a"]}
//	> SITE_NEW {"id":"a","urls":["http://a.test/"]}
//	< {"errorCode":2020,"errorMessage":"Duplicate site","statuses":[null]}
//
// testdata/README.md describes the format. Tests of faults, hostile input and concurrency
// are written in Go on the same Node.
//
// The package has only tests. Sources: docs/spec/objects.md 1-5, docs/spec/storage.md 4 and
// 6.2, docs/spec/DECISIONS.md 4, 5.
package conformance
