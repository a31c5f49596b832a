package prepare

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/batchbus/batchbus/pkg/rows"
)

// Images puts the files that rows name as images in the place of their names.
type Images struct {
	// Open opens the file that a row names. It is called for nothing else.
	Open func(path string) (File, error)
	// MaxRowBytes is the longest row, images included.
	MaxRowBytes int
}

// File is an open file and its size in bytes.
type File struct {
	io.ReadCloser
	Size int64
}

// place is a string of a row that names an image.
type place struct {
	span
	name string
}

// encode puts data URLs in the place of the paths in a row, which is valid JSON.
func (g *Images) encode(row []byte, counts *Counts) ([]byte, *rows.Fault) {
	out, copied := []byte(nil), 0
	room := int64(g.MaxRowBytes - len(row))
	for _, at := range imagePlaces(row) {
		path, local, err := localPath(at.name)
		var data []byte
		if err == nil && local {
			data, err = g.read(path, room)
		}
		if err != nil {
			return nil, &rows.Fault{
				Code: CodeImage, Column: at.at + 1, Message: fmt.Sprintf("image %.200q: %v", at.name, err),
				Hint: "paths count from the folder of the rows, or from --images",
			}
		}
		if local {
			room -= int64(len(data))
			out = append(append(out, row[copied:at.at]...), data...)
			copied = at.end
			counts.Images++
		}
	}
	if copied == 0 {
		return row, nil
	}
	return append(out, row[copied:]...), nil
}

// localPath is the path that an image's name stands for. A remote address and a data URL are none.
func localPath(name string) (path string, local bool, err error) {
	lower := strings.ToLower(name)
	switch {
	case strings.HasPrefix(lower, "file:"):
		address, err := url.Parse(name)
		if err != nil || address.Host != "" && address.Host != "localhost" || address.Path == "" {
			return "", false, errors.New("it is no file:///path on this machine")
		}
		return address.Path, true, nil
	case name == "" || strings.HasPrefix(lower, "data:") || strings.Contains(name, "://"):
		return "", false, nil
	}
	return name, true, nil
}

// read is a file as a JSON string with a data URL, of at most room bytes.
func (g *Images) read(path string, room int64) ([]byte, error) {
	file, err := g.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	needs := int64(base64.StdEncoding.EncodedLen(int(file.Size))) + int64(len(`"data:image/jpeg;base64,"`))
	if needs > room {
		return nil, fmt.Errorf("it needs %d bytes in the row as base64, and up to the limit of %d there is room for %d", needs, g.MaxRowBytes, max(room, 0))
	}
	content, err := io.ReadAll(io.LimitReader(file, file.Size+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read image: %w", err)
	case int64(len(content)) != file.Size:
		return nil, errors.New("it changed while it was read")
	}
	kind := http.DetectContentType(content)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp":
	default:
		return nil, errors.New("the file is no PNG, JPEG, GIF, WebP or BMP")
	}
	out := append(make([]byte, 0, needs), `"data:`+kind+`;base64,`...)
	return append(base64.StdEncoding.AppendEncode(out, content), '"'), nil
}

// imagePlaces are the strings of a row that name images, in their order: image_url.url (or image_url itself) in a part of a chat message or of an
// item of a responses input, and in a part of a tool's output there.
func imagePlaces(row []byte) (all []place) {
	if !bytes.Contains(row, []byte("image_url")) && !bytes.Contains(row, []byte(`\`)) {
		return nil
	}
	dec := decoderOf(row)
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return all
		}
		if token.Kind() != '"' || dec.StackDepth() < 5 || dec.StackDepth() > 7 {
			continue
		}
		if kind, length := dec.StackIndex(dec.StackDepth()); kind != '{' || length%2 != 0 {
			continue // the name of a member
		}
		name := token.String()
		if isImage(string(dec.StackPointer())) {
			end := int(dec.InputOffset())
			all = append(all, place{span{stringStart(row, end), end}, name})
		}
	}
}

// isImage reports whether a JSON pointer is that of an image's name.
func isImage(pointer string) bool {
	part := strings.Split(strings.TrimSuffix(pointer, "/url"), "/") // "", body, messages, 0, content, 1, image_url
	if len(part) == 5 && part[4] == "image_url" {                   // an input_image beside messages: "", body, input, 0, image_url
		return part[1] == "body" && part[2] == "input" && isIndex(part[3])
	}
	if len(part) != 7 || part[1] != "body" || part[6] != "image_url" || !isIndex(part[3]) || !isIndex(part[5]) {
		return false
	}
	return part[2] == "messages" && part[4] == "content" || part[2] == "input" && (part[4] == "content" || part[4] == "output")
}

func isIndex(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// stringStart is where the string that ends in front of end begins.
func stringStart(text []byte, end int) int {
	for at := end - 2; ; at-- {
		if text[at] != '"' {
			continue
		}
		slashes := 0
		for text[at-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return at
		}
	}
}

// decoderOf reads valid JSON, names that stand twice included.
func decoderOf(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
}
