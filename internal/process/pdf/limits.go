package pdf

// Limits of one file. What is beyond them is left out, and the page is marked as cut.
const (
	// maxStreams bounds the decompressed bytes that are interpreted: contents of pages, maps
	// of fonts, metadata. A form that is drawn twice counts twice. A small file has a part of
	// that: leastStreams, and maxRatio times its size.
	maxStreams   = 64 << 20
	leastStreams = 4 << 20
	maxRatio     = 200
	// maxObjectBytes bounds the decompressed bytes of all object streams.
	maxObjectBytes = 64 << 20
	// maxObjects bounds the objects of a file, and those that are visited.
	maxObjects = 250_000
	// maxPlain bounds the bytes of a file that are not in streams. As objects they take up to 50
	// times as much memory.
	maxPlain = 8 << 20
	// objectReads is the most bytes that the library reads for one object. It reads blocks.
	objectReads = 32 << 10
	// maxPages bounds the pages.
	maxPages = 5_000
	// maxDepth bounds the nesting of objects, of the page tree, and of forms in forms.
	maxDepth = 24
	// maxLinks bounds the links.
	maxLinks = 5_000
	// maxCodes bounds the codes that all maps of fonts have.
	maxCodes = 1 << 20
	// maxFontCodes bounds the codes of one font.
	maxFontCodes = 1 << 16
)
