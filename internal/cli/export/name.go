package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hce/dc/internal/cli/objectstore"
	"hce/dc/internal/config"
	"hce/dc/internal/files"
)

// endings are the formats that the end of a file name means.
var endings = []struct{ ending, format string }{
	{".warc", "warc"}, {".warc.gz", "warc"}, {".wacz", "wacz"}, {".csv", "csv"}, {".parquet", "parquet"},
	{".jsonl", "jsonl"}, {".ndjson", "jsonl"}, {".jl", "jsonl"}, {".json", "jsonl"}, {".xml", "sitemap"},
}

// packed are the endings of compressed files. Of all formats only warc compresses.
var packed = []string{".gz", ".zst", ".bz2", ".xz", ".zip"}

// folderFormat is the format of a folder without --format.
const folderFormat = "md"

// Choose returns the format of an output: the one of name, or without it the one that the name of the output means;
// a folder has Markdown files, and an output without an ending, as stdout (""), has jsonl. It refuses a name that
// contradicts the format, a name whose ending means none, and a folder in place of a file or a file in place of a folder.
func Choose(name, out string) (Format, error) {
	if objectstore.IsAddress(out) {
		return chooseForObject(name, out)
	}
	folder := strings.HasSuffix(out, "/")
	if info, err := os.Stat(out); err == nil && out != "" {
		folder = info.IsDir()
	}
	return chooseByName(name, out, folder)
}

// chooseByName returns the format of an output, which is a folder or may become a file.
func chooseByName(name, out string, folder bool) (Format, error) {
	base := strings.ToLower(filepath.Base(out))
	ending, meant := filepath.Ext(base), ""
	for _, e := range endings {
		if strings.HasSuffix(base, e.ending) {
			ending, meant = e.ending, e.format
		}
	}
	format, err := Find(name)
	switch {
	case out == "" || folder && name == "":
		if name == "" {
			format, err = Find(map[bool]string{true: folderFormat, false: "jsonl"}[folder])
		}
		return format, err
	case name == "" && ending != "" && meant == "":
		return Format{}, fmt.Errorf("%s: the ending %s means no format; %s", out, ending, otherName(out, ending))
	case name == "":
		return Find(cmp.Or(meant, "jsonl"))
	case err != nil:
		return format, err
	case format.Folder && (meant != "" && !folder || slices.Contains(packed, ending)):
		return format, fmt.Errorf("%s is the name of a file, and format %s writes a folder; name the folder, or choose another format", out, name)
	case folder && !format.Folder:
		return format, fmt.Errorf("%s is a folder, and format %s writes a file; name a file in it, or choose one of %s", out, name, strings.Join(folderNames(), ", "))
	case meant != "" && meant != name && !folder:
		return format, fmt.Errorf("%s is the name of a file of format %s, and --format is %s; change one of them", out, meant, name)
	case slices.Contains(packed, ending) && meant == "" && !(name == "warc" && ending == ".gz"):
		return format, fmt.Errorf("%s: %s", out, otherName(out, ending))
	}
	return format, nil
}

// otherName says what to do about a name with an ending that cannot be used.
func otherName(out, ending string) string {
	if slices.Contains(packed, ending) {
		return fmt.Sprintf("only .warc.gz is compressed by hce; name it %s, and compress it afterwards", strings.TrimSuffix(out, ending))
	}
	var known []string
	for _, e := range endings {
		known = append(known, e.ending)
	}
	return fmt.Sprintf("name it with one of %s%s, end the name of a folder with /, or give the format with --format", strings.Join(known, ", "), config.Suggestion(config.Nearest(ending, known)))
}

// folderNames are the names of the formats that write a folder.
func folderNames() (names []string) {
	for _, f := range Formats {
		if f.Folder {
			names = append(names, f.Name)
		}
	}
	return names
}

// CheckOut refuses an output of a job that cannot be written: it exists, its folder does not, or the user may not
// write there. It leaves nothing behind. An output that an interrupted export has left is accepted.
func CheckOut(ctx context.Context, job Job) error {
	if job.Out == "" {
		return nil
	}
	if objectstore.IsAddress(job.Out) {
		if err := checkObject(ctx, job); err != nil {
			return openingError(job, err)
		}
		return nil
	}
	info, err := os.Stat(job.Out)
	switch {
	case err == nil && info.IsDir() != job.Format.Folder:
		return fmt.Errorf("%s: format %s writes a %s, which it is not", job.Out, job.Format.Name, map[bool]string{true: "folder", false: "file"}[job.Format.Folder])
	case err == nil && !info.IsDir() && !info.Mode().IsRegular():
		return nil // opening a pipe waits for its reader
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if _, interrupted := os.Stat(statePath(job)); interrupted != nil {
		if err := (&output{}).refuseReplacing(job); err != nil {
			return openingError(job, err)
		}
	}
	if err == nil && !job.Format.Folder {
		file, err := os.OpenFile(job.Out, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return file.Close()
	}
	return checkFolder(job)
}

// checkFolder looks whether a file can be made where the output comes: a folder of files is made with those above it.
func checkFolder(job Job) error {
	dir := filepath.Clean(job.Out)
	if !job.Format.Folder {
		dir = filepath.Dir(dir)
	}
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s: %s is no folder", job.Out, dir)
		case err != nil && !job.Format.Folder:
			return fmt.Errorf("%s: the folder %s does not exist; create it first", job.Out, dir)
		case err == nil:
			if err := files.CheckFolder(dir); err != nil {
				return fmt.Errorf("%s cannot be written: %w", job.Out, err)
			}
			return nil
		}
		dir = filepath.Dir(dir)
	}
}
