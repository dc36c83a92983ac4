package web

import (
	"fmt"
	"strings"

	"hce/dc/internal/wire"
)

// lengths are answers with a wrong length.
func lengths() []Trap {
	const page = "<!DOCTYPE html><title>A page</title><p>It has a text of its own.</p>"
	broken := ends(wire.ErrFetchHTTP)
	chunked := okHead + "Transfer-Encoding: chunked\r\n\r\n"
	length := func(n any) string { return fmt.Sprintf("%sContent-Length: %v\r\n\r\n%s", okHead, n, page) }
	return []Trap{
		{Path: "/length/short", What: "fewer bytes than Content-Length says", Ends: ends(wire.ErrPageConvert), serve: say(length(len(page) + 5000))},
		{Path: "/length/long", What: "more bytes than Content-Length says", serve: say(length(len(page)) + strings.Repeat("beyond ", 1000))},
		{Path: "/length/huge", What: "a Content-Length of 2^63-1", Ends: ends(wire.ErrSize), serve: say(length("9223372036854775807"))},
		{Path: "/length/overflow", What: "a Content-Length of 30 digits", Ends: broken, Kept: true, serve: say(length(strings.Repeat("9", 30)))},
		{Path: "/length/negative", What: "a Content-Length of -5", Ends: broken, Kept: true, serve: say(length(-5))},
		{Path: "/length/word", What: "a Content-Length that is a word", Ends: broken, Kept: true, serve: say(length("many"))},
		{Path: "/length/sign", What: "a Content-Length with a plus sign", Ends: broken, Kept: true, serve: say(length(fmt.Sprintf("+%d", len(page))))},
		{Path: "/length/empty", What: "an empty Content-Length", Ends: broken, Kept: true, serve: say(length(""))},
		{Path: "/length/list", What: "the same length twice in one Content-Length", Ends: broken, Kept: true, serve: say(length(fmt.Sprintf("%d, %d", len(page), len(page))))},
		{Path: "/length/same", What: "the same Content-Length twice", Ends: broken, Kept: true, serve: say(okHead + fmt.Sprintf("Content-Length: %d\r\n", len(page)) + strings.TrimPrefix(length(len(page)), okHead))},
		{Path: "/length/list-differs", What: "two different lengths in one Content-Length", Ends: broken, serve: say(length(fmt.Sprintf("%d, 10", len(page))))},
		{Path: "/length/two-and-chunks", What: "two different lengths and chunks, which win", Ends: broken, Kept: true, serve: say(okHead + "Content-Length: 3\r\nContent-Length: 4\r\n" + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(page), page))},
		{Path: "/length/two", What: "two different Content-Length headers", Ends: ends(wire.ErrFetchHTTP), serve: say(okHead + "Content-Length: 10\r\n" + strings.TrimPrefix(length(len(page)), okHead))},
		{Path: "/length/and-chunks", What: "Content-Length and chunks, which win", serve: say(okHead + "Content-Length: 3\r\n" + fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(page), page))},
		{Path: "/length/silent", What: "a Content-Length that is never reached, on an open connection", Ends: ends(wire.ErrTimeout), Stalls: true, serve: stall(length(len(page) + 10))},

		{Path: "/chunk/word", What: "a chunk size that is not a number", Ends: ends(wire.ErrPageConvert), serve: say(chunked + "xyz\r\n" + page)},
		{Path: "/chunk/huge", What: "a chunk of 2^64 bytes", Ends: ends(wire.ErrPageConvert), serve: say(chunked + "ffffffffffffffff1\r\n" + page)},
		{Path: "/chunk/wide", What: "a chunk size with leading zeros without an end", Ends: ends(wire.ErrPageConvert), serve: then(chunked, "0")},
		{Path: "/chunk/cut", What: "a chunk that breaks off", Ends: ends(wire.ErrPageConvert), serve: say(chunked + "5000\r\n" + page)},
		{Path: "/chunk/no-last", What: "no last chunk", Ends: ends(wire.ErrPageConvert), serve: say(chunked + fmt.Sprintf("%x\r\n%s\r\n", len(page), page))},
		{Path: "/chunk/longer", What: "a chunk that goes on where its end should be", Ends: ends(wire.ErrPageConvert), serve: say(chunked + "5\r\n" + page)},
		{Path: "/chunk/extension", What: "a chunk extension without an end", Ends: ends(wire.ErrPageConvert), serve: then(chunked+"5;", "x=y;")},
		{Path: "/chunk/ones", What: "chunks of one byte with long extensions, without an end", Ends: ends(wire.ErrPageConvert), serve: then(chunked, "1;"+strings.Repeat("x", 200)+"\r\na\r\n")},
		{Path: "/chunk/trailers", What: "trailers without an end", Ends: ends(wire.ErrPageConvert), serve: then(chunked+fmt.Sprintf("%x\r\n%s\r\n0\r\n", len(page), page), "X-More: and more\r\n")},
		{Path: "/chunk/twice", What: "chunked twice, and no chunk", Ends: ends(wire.ErrFetchHTTP | wire.ErrEmpty), serve: say(okHead + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n")},
		{Path: "/chunk/unknown", What: "an unknown transfer coding", Ends: broken, Kept: true, serve: say(okHead + "Transfer-Encoding: magic\r\n\r\n" + page)},
		{Path: "/chunk/identity", What: "the transfer coding identity, which is not allowed any more", Ends: broken, Kept: true, serve: say(okHead + "Transfer-Encoding: identity\r\n\r\n" + page)},
		{Path: "/chunk/spaces", What: "chunk sizes with leading zeros and spaces behind", serve: say(chunked + fmt.Sprintf("000%x  \r\n%s\r\n0\r\n\r\n", len(page), page))},
		{Path: "/chunk/line-feeds", What: "chunks whose lines end in LF alone", Ends: ends(wire.ErrPageConvert), serve: say(chunked + fmt.Sprintf("%x\n%s\n0\n\n", len(page), page))},
	}
}
