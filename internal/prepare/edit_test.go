package prepare_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/prepare"
)

func TestEditsChangeTheirMembersAndNoOtherByte(t *testing.T) {
	t.Parallel()
	line := `{ "method":"POST", "meta":{"a":1} ,"url":"/v1/embeddings","body":{"input":"\u00e9","user":"u","n":1.0}}`
	got := prepared(t, line+"\n"+line+line, func(p *prepare.Preparer) {
		p.Edits = prepare.Edits{
			IDs: "row", Model: "m", Drop: [][]string{{"meta"}, {"body", "user"}, {"body", "absent"}},
			Set: []prepare.Setting{{Path: []string{"body", "n"}, Value: []byte("2E0"), Name: "body.n"}, {Path: []string{"body", "dimensions"}, Value: []byte("8")}},
		}
	})
	var want []string
	for _, id := range []string{"row-1", "row-2", "row-2-2"} {
		want = append(want, fmt.Sprintf(`{"custom_id":%q, "method":"POST" ,"url":"/v1/embeddings","body":{"model":"m","dimensions":8,"input":"\u00e9","n":2E0}}`, id))
	}
	if !slices.Equal(got.lines, want) {
		t.Errorf("got  %s\nwant %s\n%q", strings.Join(got.lines, "\n     "), strings.Join(want, "\n     "), got.findings)
	}
	if c := got.counts; c.IDs != 3 || c.Models != 3 || c.Dropped != 6 || c.Set != 6 || c.Changed != 3 {
		t.Errorf("%+v", c)
	}
}

func TestIDsAndModelsThatAreThereStay(t *testing.T) {
	t.Parallel()
	a, null := row("a"), strings.Replace(row("x"), `"x"`, "null", 1)
	got := prepared(t, a+"\n"+null, func(p *prepare.Preparer) { p.Edits = prepare.Edits{IDs: "p", Model: "other"} })
	if !slices.Equal(got.lines, []string{a, row("p-2")}) {
		t.Errorf("%q %q", got.lines, got.findings)
	}
}

func TestARowWithoutAPlaceForASettingIsBad(t *testing.T) {
	t.Parallel()
	got := prepared(t, row("a")+"\n"+strings.Replace(row("b"), `"seed"`, `"x":[7],"seed"`, 1), func(p *prepare.Preparer) {
		p.Edits.Set = []prepare.Setting{{Path: []string{"body", "x", "y"}, Value: []byte("1"), Name: "body.x.y"}}
	})
	if len(got.lines) != 1 || !slices.Equal(got.findings, []string{"2:0 no_place"}) || got.counts.Set != 1 {
		t.Errorf("%q %q %+v", got.lines, got.findings, got.counts)
	}
}

const png = "\x89PNG\r\n\x1a\n\x00\x00"

func images(t *testing.T, dir string) func(p *prepare.Preparer) {
	t.Helper()
	return func(p *prepare.Preparer) {
		p.Edits.Images = &prepare.Images{Open: prepare.From(dir), MaxRowBytes: 1000}
	}
}

func chat(image string) string {
	return `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m", "messages":[{"role":"user","content":[{"type":"text","text":"image_url"},{"type":"image_url","image_url":` + image + `}]}]}}`
}

func response(image string) string {
	return `{"custom_id":"a","method":"POST","url":"/v1/responses","body":{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":` + image + `}]}]}}`
}

func TestImagesThatRowsNameBecomeDataURLs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{"a \u00e9.bin": png, "b.jpg": "\xff\xd8\xff\xe0", "c.gif": "GIF89a", "d.webp": "RIFF\x04\x00\x00\x00WEBPVP8 ", `q"\.png`: png}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	quote := func(kind, name string) string {
		return `"data:image/` + kind + `;base64,` + base64.StdEncoding.EncodeToString([]byte(files[name])) + `"`
	}
	for in, want := range map[string]string{
		chat(`{"detail":"low", "url" : "a \u00e9.bin"}`):                      chat(`{"detail":"low", "url" : ` + quote("png", "a é.bin") + `}`),
		chat(`{"url":"file://` + filepath.ToSlash(dir) + `/a%20%C3%A9.bin"}`): chat(`{"url":` + quote("png", "a é.bin") + `}`),
		chat(`{"url":"` + filepath.ToSlash(dir) + `/b.jpg"}`):                 chat(`{"url":` + quote("jpeg", "b.jpg") + `}`),
		chat(`{"url":"q\"\\.png"}`):                                           chat(`{"url":` + quote("png", `q"\.png`) + `}`),
		chat(`"c.gif"`):                                                       chat(quote("gif", "c.gif")),
		response(`"d.webp"`):                                                  response(quote("webp", "d.webp")),
		chat(`{"url":"https://example.com/a.png"}`):                           chat(`{"url":"https://example.com/a.png"}`),
		response(`"HTTP://example.com/a.png"`):                                response(`"HTTP://example.com/a.png"`),
		chat(`{"url":"data:image/png;base64,AAAA"}`):                          chat(`{"url":"data:image/png;base64,AAAA"}`),
		chat(`{"other":"b.jpg"}`):                                             chat(`{"other":"b.jpg"}`),
	} {
		got := prepared(t, in, images(t, dir))
		if !slices.Equal(got.lines, []string{want}) {
			t.Errorf("%s\nbecame %q %q\nwant %s", in, got.lines, got.findings, want)
		}
	}
}

func TestWhatIsNoImageOrDoesNotFitIsABadRowAndIsNotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"secret": "password: x", "vector.svg": "<svg/>", "big.png": png + strings.Repeat("x", 900)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"secret", "vector.svg", "big.png", "absent.png", ".", "file://other/x.png", "file:x.png"} {
		var said string
		got := prepared(t, chat(`{"url":"`+name+`"}`), func(p *prepare.Preparer) {
			images(t, dir)(p)
			p.Found = func(f prepare.Finding) { said = f.Code + " " + f.Message }
		})
		if got.lines != nil || !strings.HasPrefix(said, "no_image") || !strings.Contains(said, name) || got.counts.Images != 0 {
			t.Errorf("%s: %q %s", name, got.lines, said)
		}
		if name == "big.png" && (!strings.Contains(said, "1000") || !strings.Contains(said, "needs 12")) {
			t.Errorf("the sizes are not told: %s", said)
		}
	}
}

func TestNothingOutsideOfTheFolderOfImagesIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inside := filepath.Join(dir, "inside")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "out.png"), filepath.Join(inside, "in.png")} {
		if err := os.WriteFile(path, []byte(png), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../out.png", filepath.Join(inside, "link.png")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for path, fine := range map[string]bool{
		"in.png": true, "./in.png": true, filepath.ToSlash(filepath.Join(inside, "in.png")): true,
		"../out.png": false, "link.png": false, filepath.ToSlash(filepath.Join(dir, "out.png")): false, "/etc/hostname": false,
	} {
		got := prepared(t, chat(`{"url":"`+path+`"}`), func(p *prepare.Preparer) {
			p.Edits.Images = &prepare.Images{Open: prepare.Within(root), MaxRowBytes: 1000}
		})
		if (len(got.lines) == 1) != fine {
			t.Errorf("%s: %q %q", path, got.lines, got.findings)
		}
	}
}
