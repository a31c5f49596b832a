package jetstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// chunkSize is nats.go's own: with 1 MiB a slow store's ingest queue overflowed (measured).
const chunkSize = 128 << 10

// Object names bytes that are too big for a message.
type Object struct {
	Name   string // <stream>/<subject>/<random>
	Digest string // "SHA-256=" and the base64url of the hash, padded
	Size   int64  // bytes
}

// SetHeader writes the object's three headers.
func (o Object) SetHeader(h nats.Header) {
	h.Set(HeaderObject, o.Name)
	h.Set(HeaderDigest, o.Digest)
	h.Set(HeaderSize, strconv.FormatInt(o.Size, 10))
}

// ObjectOf reads the three headers. It is false when there is no object or its size is no number.
func ObjectOf(h nats.Header) (Object, bool) {
	size, err := strconv.ParseInt(h.Get(HeaderSize), 10, 64)
	o := Object{Name: h.Get(HeaderObject), Digest: h.Get(HeaderDigest), Size: size}
	return o, err == nil && size >= 0 && o.Name != ""
}

// PutObject stores all of r as an object with a fresh name, for a message on a subject of a stream. One chunk of 128 KiB is
// in memory and under way at a time, so that a chunk whose acknowledgement got lost can be sent again and is stored once, in
// its place. After an error no object of that name exists; what was sent of it is deleted as far as the connection allows.
// The object stays until somebody deletes it.
func (s *Store) PutObject(ctx context.Context, stream, subject string, r io.Reader) (Object, error) {
	w := objectWriter{store: s, nuid: rand.Text(), hash: sha256.New()}
	o := Object{Name: stream + "/" + subject + "/" + rand.Text()}
	err := w.chunks(ctx, r)
	if err == nil {
		o.Digest, o.Size = w.digest(), w.size
		err = w.meta(ctx, o.Name)
	}
	if err != nil {
		return Object{}, errors.Join(fmt.Errorf("put object for %s: %w", subject, err), w.discard(ctx))
	}
	return o, nil
}

// objectWriter writes the object store's own layout (nats ADR-20): chunks on one subject, then the description, which is what
// makes the object exist. nats.go's Put keeps up to 4000 chunks in flight, 500 MiB, hence this one.
type objectWriter struct {
	store  *Store
	nuid   string
	hash   hash.Hash
	size   int64
	number uint32
}

func (w *objectWriter) subject() string { return chunkSubject(w.nuid) }

func (w *objectWriter) digest() string {
	return "SHA-256=" + base64.URLEncoding.EncodeToString(w.hash.Sum(nil))
}

func (w *objectWriter) chunks(ctx context.Context, r io.Reader) error {
	buffer := make([]byte, chunkSize)
	for {
		n, err := io.ReadFull(r, buffer)
		if n > 0 {
			if err := w.chunk(ctx, buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
	}
}

func (w *objectWriter) chunk(ctx context.Context, data []byte) error {
	w.hash.Write(data)
	w.size += int64(len(data))
	w.number++
	id := jetstream.WithMsgID(w.nuid + "-" + strconv.FormatUint(uint64(w.number), 10))
	_, err := w.store.Publish(ctx, &nats.Msg{Subject: w.subject(), Data: data}, id)
	return err
}

func (w *objectWriter) meta(ctx context.Context, name string) error {
	info := jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}},
		Bucket:     BucketObjects, NUID: w.nuid, Size: uint64(w.size), Chunks: w.number, Digest: w.digest(),
	}
	data, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("encode description: %w", err)
	}
	m := &nats.Msg{Subject: metaSubject(name), Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}, Data: data}
	_, err = w.store.Publish(ctx, m)
	return err
}

// discard deletes the chunks, even when ctx has ended. The probe does not hear of it: nothing is different after it but the room that is
// left, and [Store.SweepRemnants] makes good for a process that dies over it.
func (w *objectWriter) discard(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	return w.store.purge(ctx, StreamObjects, w.subject(), 0)
}

func chunkSubject(nuid string) string { return "$O." + BucketObjects + ".C." + nuid }

func metaSubject(name string) string {
	return "$O." + BucketObjects + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}
