// Package random_test runs one random sequence of operations on two backends and
// demands equal answers and equal tables.
//
//	go test ./internal/storage/conformance/random/
//	DC_RANDOM_SEED=20260105 DC_RANDOM_OPERATIONS=50000 go test -v -run Random ./internal/storage/conformance/random/
//
// The seed is the same in each run unless the variable says another; "make fuzz"
// takes one from the clock.
//
// A sequence is made from a seed alone (generate), never from an answer, so that
// any part of it is a sequence too. It is run step by step on both nodes (run).
// What differs is cut to a short script (shrink), which is kept in testdata and
// is a case from then on.
//
// backends and pairs are the one place that names the backends.
//
// # What is compared
//
// Answers are compared as JSON, numbers by their text. Every few hundred steps,
// and at the end, the rows of all tables, the processed contents and the raw
// files are compared, and each node is checked by itself: the counters of its
// sites, rows of sites that are gone, a trash that is not empty. A panic, an
// answer with the words of a database and an error that Job calls critical are
// failures on whatever node.
//
// # What is not compared, and why
//
//   - Numbers that a database gives out: Id of sites_proxy, att and trash, and id
//     in the answers of PROXY_STATUS and PROXY_FIND. A database may skip some.
//   - cDate of a raw file that URL_PUT named by a suffix: the time of the file
//     on the disk, which has no fake clock. It is told by being later than the
//     fake clock can be (fileTime).
//   - The order of lists where the specification leaves it open and the request
//     gives none (order_test.go).
//   - Which of several copies of a deleted URL URL_VERIFY shows: only whether
//     there is one.
//   - MaskStale of sites: when ErrorMask is made anew is the backend's affair, so
//     each site is read with SITE_STATUS before its row is compared.
//   - Dates of the rows that the schema itself writes for the general site: the
//     schema has the real clock. A backend's open sets them to the fake one.
//   - host and time of a client's answer: they are put there by the service, not
//     by db-task, and never seen here.
//
// # What the universe leaves out
//
// Package expr names its distances from MySQL (case of letters beyond ASCII,
// decimals). Conditions here compare with ASCII texts only, and no two texts of
// the universe differ in accents or in the case of non-ASCII letters alone. No
// two ids or names are told apart by the place of "_" among letters, which is the
// collation's. Numbers stay so small (2^40) that the sums of a site's rows fit
// 64 bits. URL_PUT uses one suffix alone: several of a URL would be ordered by
// the times of their files.
package random_test
