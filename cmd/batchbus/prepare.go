package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/prepare"
	"github.com/batchbus/batchbus/internal/requeue"
	"github.com/batchbus/batchbus/internal/rowfile"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

type prepareCommand struct {
	Files []string `arg:"" name:"file" help:"Files of rows, folders of them, patterns, or - for standard input: JSONL, arrays, objects over several lines, UTF-16, gzip."`
	outputFlag

	Model        string   `help:"Model for rows that name none."`
	Set          []string `sep:"none" placeholder:"PATH=VALUE" help:"Set a member in each row: body.temperature=0, body.messages.0.role=user. VALUE is JSON, or else text. May be repeated."`
	Drop         []string `sep:"none" placeholder:"PATH" help:"Remove a member from each row that has it: body.user, metadata. May be repeated; comes before --set."`
	AddIDs       string   `name:"add-ids" placeholder:"PREFIX" help:"Give rows without a custom_id one: PREFIX-LINE, with several files PREFIX-FILE-LINE."`
	EncodeImages bool     `help:"Put the files that image_url names into the rows of /v1/chat/completions and /v1/responses, as base64. Addresses on the web stay."`
	Images       string   `placeholder:"DIR" help:"Folder that the paths of images count from, and out of which none is read. Default: that of the rows, and anything a row names is read."`
	MaxRowBytes  int      `default:"10485760" help:"Longest row that is written, at most 64 MiB. A queue takes 10 MiB unless its policy says otherwise."`
	Strict       bool     `help:"Write nothing when a row is bad."`
	JSON         bool     `name:"json" help:"Print findings and counts as JSON lines, on stderr."`
}

// Help is shown below the flags. A test runs what is indented.
func (p *prepareCommand) Help() string {
	return `What is not asked for stays as it is, byte by byte. Bad rows are named on stderr and left out; the exit code is then 1.

    batchbus prepare pretty.json --set body.temperature=0 --drop body.user -o rows.jsonl`
}

// run writes the rows of the files as plain JSONL. The exit code is 1 when some were bad.
func (p *prepareCommand) run(ctx context.Context, env app.Env) (int, error) {
	files, err := resolveFiles(ctx, env, p.Files)
	edits, editsErr := p.edits()
	if p.MaxRowBytes < 1 || p.MaxRowBytes > client.MaxLineBytes {
		err = errors.Join(err, fmt.Errorf("--max-row-bytes: %d is not between 1 and %d", p.MaxRowBytes, client.MaxLineBytes))
	}
	if err := errors.Join(err, editsErr); err != nil {
		return app.ExitFault, err
	}
	from, closeImages, err := p.images()
	if err != nil {
		return app.ExitFault, err
	}
	defer closeImages()
	out, err := p.create(env, files, p.Strict)
	if err != nil {
		return app.ExitFault, err
	}
	defer out.Discard()
	return p.write(ctx, env, files, &preparing{edits: edits, from: from, out: out})
}

// preparing is what a preparation works with.
type preparing struct {
	edits prepare.Edits
	from  func(dir string) func(path string) (prepare.File, error) // opens images by paths that count from dir
	out   *rowfile.Output
}

func (p *prepareCommand) write(ctx context.Context, env app.Env, files *rowFiles, with *preparing) (int, error) {
	findings := env
	findings.Stdout = env.Stderr
	report := newReporter(findings, p.JSON)
	policy := events.DefaultPolicy()
	rules := rulesOf(&policy)
	rules.MaxRowBytes = p.MaxRowBytes
	name := ""
	preparer := prepare.Preparer{
		Edits: with.edits, Rules: rules, Limit: client.MaxLineBytes,
		Put: func(line []byte) error {
			_, err := with.out.Write(line)
			return errors.Join(err, with.out.WriteByte('\n'))
		},
		Found: func(f prepare.Finding) {
			report.finding(finding{File: name, Line: f.Line, Column: f.Column, Code: f.Code, Message: f.Message, Hint: f.Hint, Warning: f.Warning})
		},
	}
	err := files.each(func(path string, file *rowfile.File) error {
		name = path
		if p.AddIDs != "" && len(files.paths) > 1 {
			preparer.Edits.IDs = fmt.Sprintf("%s-%d", p.AddIDs, preparer.Counts.Files+1)
		}
		if p.EncodeImages {
			preparer.Edits.Images = &prepare.Images{Open: with.from(filepath.Dir(path)), MaxRowBytes: p.MaxRowBytes}
		}
		return preparer.File(ctx, file, file.Packed)
	})
	counts := &preparer.Counts
	if err == nil && counts.Rows+counts.Bad == 0 {
		err = fmt.Errorf("%s: no rows: the input is empty", p.Files[0])
	}
	if err != nil {
		return endedWriting(ctx, env, err)
	}
	return p.end(env, with.out, counts)
}

// end gives the new file its name, unless no row of it is wanted, and says what was done.
func (p *prepareCommand) end(env app.Env, out *rowfile.Output, counts *prepare.Counts) (int, error) {
	if counts.Bad > 0 && (p.Strict || counts.Written == 0) {
		tellPrepared(env, counts, p.JSON)
		say(env, "nothing was written")
		return app.ExitRows, nil
	}
	if err := out.Commit(); err != nil {
		return app.ExitFault, err
	}
	tellPrepared(env, counts, p.JSON)
	return differing(counts.Bad, 0), nil
}

// edits reads the flags. All faults are reported.
func (p *prepareCommand) edits() (edits prepare.Edits, err error) {
	edits.IDs, edits.Model = p.AddIDs, p.Model
	for _, text := range p.Set {
		edit, fault := requeue.ParseEdit(text)
		where, _, _ := strings.Cut(text, "=")
		edits.Set = append(edits.Set, prepare.Setting{Path: edit.Path, Value: edit.Value, Name: where})
		err = errors.Join(err, flagError("--set", fault))
	}
	for _, text := range p.Drop {
		path, fault := rows.ParsePath(text)
		edits.Drop = append(edits.Drop, path)
		err = errors.Join(err, flagError("--drop", fault))
	}
	if p.Images != "" && !p.EncodeImages {
		err = errors.Join(err, errors.New("--images is for --encode-images"))
	}
	return edits, err
}

// images is how the files of images are opened.
func (p *prepareCommand) images() (from func(dir string) func(path string) (prepare.File, error), done func(), err error) {
	if p.Images == "" {
		return prepare.From, func() {}, nil
	}
	root, err := os.OpenRoot(p.Images)
	if err != nil {
		return nil, nil, flagError("--images", err)
	}
	within := prepare.Within(root)
	return func(string) func(path string) (prepare.File, error) { return within }, func() { _ = root.Close() }, nil
}

// tellPrepared says what was found and what was changed; nothing of what did not occur.
func tellPrepared(env app.Env, c *prepare.Counts, asJSON bool) {
	if asJSON {
		_ = json.NewEncoder(env.Stderr).Encode(c) //nolint:errchkjson // a stderr that is gone is nobody's to tell
		return
	}
	say(env, "%d rows in %d file(s): %d written, %d of them changed; %d bad", c.Rows, c.Files, c.Written, c.Changed, c.Bad)
	for _, part := range []struct {
		n    int
		what string
	}{
		{c.Unpacked, "file(s) unpacked"},
		{c.Recoded, "file(s) made UTF-8"},
		{c.Marks, "byte order mark(s) left out"},
		{c.LineEnds, "line end(s) CR LF made LF"},
		{c.Arrays, "array(s) taken apart"},
		{c.Joined, "row(s) on several lines put on one"},
		{c.Cut, "line(s) with several rows cut"},
		{c.Commas, "comma(s) behind rows left out"},
		{c.IDs, "custom_id(s) added"},
		{c.Dropped, "member(s) dropped"},
		{c.Set, "member(s) set"},
		{c.Models, "model(s) filled in"},
		{c.Images, "image(s) encoded"},
		{c.Doubtful, "row(s) written that only a queue with a policy of its own takes"},
	} {
		if part.n > 0 {
			say(env, "  %d %s", part.n, part.what)
		}
	}
}
