package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// file gives access to the objects of a file. Objects that are missing or have another type
// are empty.
type file struct {
	table   *model.XRefTable
	streams int64 // bytes of streams that may be decompressed
	objects int   // references that may be followed
	codes   int   // codes that maps of fonts may have
	cut     bool
}

// objectStream finds the object streams of a file, also with escapes in the name.
var objectStream = regexp.MustCompile(`/(?:O|#4[fF])(?:b|#62)(?:j|#6[aA])(?:S|#53)(?:t|#74)(?:m|#6[dD])`)

// openFile reads the objects of a file.
func openFile(body []byte) (*file, error) {
	// The library bounds each object stream, not their sum.
	each := int64(maxObjectBytes / max(len(objectStream.FindAllIndex(body, -1)), 4))
	if plainBytes(body) > maxPlain {
		return nil, fmt.Errorf("%w: its objects have more than %d bytes", ErrDamaged, maxPlain)
	}
	c, err := pdfcpu.Read(newReader(body), &model.Configuration{
		Reader15: true, ValidationMode: model.ValidationRelaxed, Offline: true,
		Limits: model.ResourceLimits{
			MaxStreamBytes: int64(len(body)), MaxDecodeBytes: each, MaxImagePixels: 1, MaxImageBytes: 1,
			MaxObjectCount: maxObjects, MaxObjectStreamCount: maxObjects, MaxObjectStreamFirst: each,
			MaxXRefEntries: maxObjects, MaxRecursionDepth: maxDepth,
		},
	})
	switch {
	case errors.Is(err, pdfcpu.ErrWrongPassword):
		return nil, errPassword
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return &file{table: c.XRefTable, streams: min(maxStreams, int64(leastStreams+maxRatio*len(body))), objects: maxObjects, codes: maxCodes}, nil
}

// plainBytes returns the bytes that are not in streams.
func plainBytes(body []byte) int {
	n := 0
	for {
		before, after, found := bytes.Cut(body, []byte("stream"))
		if n += len(before); !found {
			return n
		}
		_, body, _ = bytes.Cut(after, []byte("endstream"))
	}
}

// reader ends after too many bytes: a table may name one object many times.
type reader struct {
	*bytes.Reader
	left int
}

func newReader(body []byte) *reader {
	objects := min(bytes.Count(body, []byte("obj")), maxObjects)
	return &reader{bytes.NewReader(body), 3*len(body) + objectReads*(objects+32)}
}

func (r *reader) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, errors.New("the objects of the file overlap")
	}
	n, err := r.Reader.Read(b)
	r.left -= n
	return n, err
}

// resolveObject returns an object, following references.
func (f *file) resolveObject(o types.Object) types.Object {
	for range maxDepth {
		if _, ok := o.(types.IndirectRef); !ok {
			return o
		}
		if f.objects--; f.objects < 0 {
			f.cut = true
			return nil
		}
		var err error
		if o, err = f.table.Dereference(o); err != nil {
			return nil
		}
	}
	return nil
}

// resolveDict returns a dictionary, or the one of a stream.
func (f *file) resolveDict(o types.Object) types.Dict {
	switch d := f.resolveObject(o).(type) {
	case types.Dict:
		return d
	case types.StreamDict:
		return d.Dict
	}
	return nil
}

func (f *file) resolveArray(o types.Object) types.Array {
	a, _ := f.resolveObject(o).(types.Array)
	return a
}

func (f *file) resolveName(o types.Object) string {
	n, _ := f.resolveObject(o).(types.Name)
	return n.Value()
}

func (f *file) resolveNumber(o types.Object) (float64, bool) {
	switch n := f.resolveObject(o).(type) {
	case types.Integer:
		return float64(n), true
	case types.Float:
		return float64(n), true
	}
	return 0, false
}

func (f *file) resolveInteger(o types.Object) int {
	n, _ := f.resolveNumber(o)
	return int(max(-1<<31, min(n, 1<<31)))
}

// resolveText returns a text string (ISO 32000-1 7.9.2).
func (f *file) resolveText(o types.Object) string {
	s, err := types.StringOrHexLiteral(f.resolveObject(o))
	if err != nil || s == nil {
		return ""
	}
	return *s
}

// isStream reports whether o is a stream.
func (f *file) isStream(o types.Object) bool {
	_, ok := f.resolveObject(o).(types.StreamDict)
	return ok
}

// decodeStream returns the decompressed bytes of a stream.
func (f *file) decodeStream(o types.Object) []byte {
	s, ok := f.resolveObject(o).(types.StreamDict)
	if !ok {
		return nil
	}
	if f.streams <= 0 {
		f.cut = true
		return nil
	}
	text, err := s.DecodeLengthWithLimit(-1, f.streams)
	if err != nil {
		f.cut = true
		return nil
	}
	f.chargeBytes(len(text))
	return text
}

// chargeBytes takes bytes that are interpreted from the limit. It reports whether there are some left.
func (f *file) chargeBytes(bytes int) bool {
	f.streams -= int64(bytes) + 1024 // small streams cost time, too
	f.cut = f.cut || f.streams <= 0
	return f.streams > 0
}
