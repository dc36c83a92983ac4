// Package random_test runs a random sequence of operations on two backends and compares
// the answers and the tables.
//
//	go test ./internal/storage/conformance/random/
//	DC_RANDOM_SEED=20260105 DC_RANDOM_OPERATIONS=50000 go test -v -run Random ./internal/storage/conformance/random/
//
// A constant is the default seed; "make fuzz" takes it from the clock.
//
// A sequence depends only on its seed (generate), not on answers, so that any part of it
// is a valid sequence. It runs step by step on both nodes (run). A sequence with a
// difference is cut to a short script (shrink) and stored in testdata as a test case.
//
// # What is compared
//
// Answers are compared as JSON, numbers by their text. Every few hundred steps and at the
// end, the rows of all tables, the processed contents and the raw contents are compared. Each
// node is also checked alone: counters of sites, rows of deleted sites, remaining trash. A
// panic, a database message in an answer and a critical error are failures on any node.
//
// # What is not compared, and why
//
//   - Automatic numbers of a database: Id of sites_proxy, att and trash, and id in the
//     answers of PROXY_STATUS and PROXY_FIND. A database may skip numbers.
//   - cDate of a raw file that URL_PUT named by a suffix: it is the file time, from the
//     real clock. It is later than any time of the fake clock (fileTime).
//   - The order of lists that neither the specification nor the request defines
//     (order_test.go).
//   - Which of several copies of a deleted URL URL_VERIFY returns: only whether it
//     returns one.
//   - MaskStale of sites: a backend decides when it renews ErrorMask, so each site is read
//     with SITE_STATUS before its row is compared.
//   - RowsEpoch of sites: a random number.
//   - Dates of the rows that the schema writes for the general site: the schema uses the
//     real clock. Opening a node sets them to the fake clock.
//   - host and time of a client's answer: the service adds them, not db-task.
//
// # Limits of the test data
//
// Package expr documents its differences from MySQL (case of non-ASCII letters, decimals).
// So conditions compare only with ASCII texts, and no two texts differ only in accents or
// in the case of non-ASCII letters. The order of "_" among letters depends on the
// collation, so it distinguishes no ids or names. Numbers are at most 2^40, so that sums
// fit 64 bits. URL_PUT uses one suffix: the order of several would depend on file times.
package random_test
