// Package process is the job of processor-task: it takes a Batch of crawled
// URLs, reads their raw contents, extracts what they say and hands the result to
// the data owner (docs/spec/steps.md 2).
//
//	plan     per site: state, limits, content types; rows marked Processing
//	extract  raw content to tags, several pages at a time
//	save     chunks to the data owner: contents first, then one transaction
//
// Every item leaves in one state: Processed, refused (Crawled, with its bit), or
// handed back as Crawled because the time was over.
//
// Neighbours: extract/article reads pages; the stored data is behind the Data
// interface, which cmd fills.
package process
