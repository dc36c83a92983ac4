package web

import (
	"fmt"
	"strings"

	"hce/dc/internal/wire/errormask"
)

// lengthTraps are answers with a wrong length.
func lengthTraps() []Trap {
	const page = "<!DOCTYPE html><title>A page</title><p>It has a text of its own.</p>"
	broken := listMasks(errormask.FetchHTTP)
	chunked := okHead + "Transfer-Encoding: chunked\r\n\r\n"
	length := func(n any) string { return fmt.Sprintf("%sContent-Length: %v\r\n\r\n%s", okHead, n, page) }
	return []Trap{
		{Path: "/length/short", What: "fewer bytes than Content-Length says", Ends: listMasks(errormask.PageConvert), serve: sendText(length(len(page) + 5000))},
		{Path: "/length/long", What: "more bytes than Content-Length says", serve: sendText(length(len(page)) + strings.Repeat("beyond ", 1000))},
		{Path: "/length/huge", What: "a Content-Length of 2^63-1", Ends: listMasks(errormask.Size), serve: sendText(length("9223372036854775807"))},
		{Path: "/length/overflow", What: "a Content-Length of 30 digits", Ends: broken, Kept: true, serve: sendText(length(strings.Repeat("9", 30)))},
		{Path: "/length/negative", What: "a Content-Length of -5", Ends: broken, Kept: true, serve: sendText(length(-5))},
		{Path: "/length/word", What: "a Content-Length that is a word", Ends: broken, Kept: true, serve: sendText(length("many"))},
		{Path: "/length/sign", What: "a Content-Length with a plus sign", Ends: broken, Kept: true, serve: sendText(length(fmt.Sprintf("+%d", len(page))))},
		{Path: "/length/empty", What: "an empty Content-Length", Ends: broken, Kept: true, serve: sendText(length(""))},
		{Path: "/length/list", What: "the same length twice in one Content-Length", Ends: broken, Kept: true, serve: sendText(length(fmt.Sprintf("%d, %d", len(page), len(page))))},
		{Path: "/length/same", What: "the same Content-Length twice", Ends: broken, Kept: true, serve: sendText(okHead + fmt.Sprintf("Content-Length: %d\r\n", len(page)) + strings.TrimPrefix(length(len(page)), okHead))},
		{Path: "/length/list-differs", What: "two different lengths in one Content-Length", Ends: broken, serve: sendText(length(fmt.Sprintf("%d, 10", len(page))))},
		{Path: "/length/two-and-chunks", What: "two different lengths and chunks, which win", Ends: broken, Kept: true, serve: sendText(okHead + "Content-Length: 3\r\nContent-Length: 4\r\n" + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(page), page))},
		{Path: "/length/two", What: "two different Content-Length headers", Ends: listMasks(errormask.FetchHTTP), serve: sendText(okHead + "Content-Length: 10\r\n" + strings.TrimPrefix(length(len(page)), okHead))},
		{Path: "/length/and-chunks", What: "Content-Length and chunks, which win", serve: sendText(okHead + "Content-Length: 3\r\n" + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(page), page))},
		{Path: "/length/silent", What: "a Content-Length that is never reached, on an open connection", Ends: listMasks(errormask.Timeout), Stalls: true, serve: sendThenStall(length(len(page) + 10))},

		{Path: "/chunk/word", What: "a chunk size that is not a number", Ends: listMasks(errormask.PageConvert), serve: sendText(chunked + "xyz\r\n" + page)},
		{Path: "/chunk/huge", What: "a chunk of 2^64 bytes", Ends: listMasks(errormask.PageConvert), serve: sendText(chunked + "ffffffffffffffff1\r\n" + page)},
		{Path: "/chunk/wide", What: "a chunk size with leading zeros without an end", Ends: listMasks(errormask.PageConvert), serve: sendThenFlood(chunked, "0")},
		{Path: "/chunk/cut", What: "a chunk that breaks off", Ends: listMasks(errormask.PageConvert), serve: sendText(chunked + "5000\r\n" + page)},
		{Path: "/chunk/no-last", What: "no last chunk", Ends: listMasks(errormask.PageConvert), serve: sendText(chunked + fmt.Sprintf("%x\r\n%s\r\n", len(page), page))},
		{Path: "/chunk/longer", What: "a chunk that goes on where its end should be", Ends: listMasks(errormask.PageConvert), serve: sendText(chunked + "5\r\n" + page)},
		{Path: "/chunk/extension", What: "a chunk extension without an end", Ends: listMasks(errormask.PageConvert), serve: sendThenFlood(chunked+"5;", "x=y;")},
		{Path: "/chunk/ones", What: "chunks of one byte with long extensions, without an end", Ends: listMasks(errormask.PageConvert), serve: sendThenFlood(chunked, "1;"+strings.Repeat("x", 200)+"\r\na\r\n")},
		{Path: "/chunk/trailers", What: "trailers without an end", Ends: listMasks(errormask.PageConvert), serve: sendThenFlood(chunked+fmt.Sprintf("%x\r\n%s\r\n0\r\n", len(page), page), "X-More: and more\r\n")},
		{Path: "/chunk/twice", What: "chunked twice, and no chunk", Ends: listMasks(errormask.FetchHTTP | errormask.Empty), serve: sendText(okHead + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n")},
		{Path: "/chunk/unknown", What: "an unknown transfer coding", Ends: broken, Kept: true, serve: sendText(okHead + "Transfer-Encoding: magic\r\n\r\n" + page)},
		{Path: "/chunk/identity", What: "the transfer coding identity, which is not allowed any more", Ends: broken, Kept: true, serve: sendText(okHead + "Transfer-Encoding: identity\r\n\r\n" + page)},
		{Path: "/chunk/spaces", What: "chunk sizes with leading zeros and spaces behind", serve: sendText(chunked + fmt.Sprintf("000%x  \r\n%s\r\n0\r\n\r\n", len(page), page))},
		{Path: "/chunk/line-feeds", What: "chunks whose lines end in LF alone", Ends: listMasks(errormask.PageConvert), serve: sendText(chunked + fmt.Sprintf("%x\n%s\n0\n\n", len(page), page))},
	}
}
