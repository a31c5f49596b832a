package simulator

import (
	"cmp"
	"strconv"
)

// row is a stored row in parts, all of them slices of its line.
type row struct {
	line []byte
	id   []byte // quoted, as stored
	url  []byte // quoted
	body []byte
}

func parseRow(line []byte) row {
	r := row{line: line}
	for key, value := range members(line) {
		switch string(key) {
		case "custom_id":
			r.id = value
		case "url":
			r.url = value
		case "body":
			r.body = value
		}
	}
	return r
}

func (r row) customID() string { return string(unquote(r.id)) }

// endpoint is the url; no allowed url needs an escape.
func (r row) endpoint() string { return string(unquote(r.url)) }

// outputLine renders completed rows (contract, 7.1). The answer is a function of seed, url and body alone: no model sees the custom_id,
// and whoever puts a place in front of it gets the same answers in another order.
// odd is a copy, here and below: a retry may come while the file is read.
func (s *Simulator) outputLine(b *batch, odd map[uint32]oddities) func(dst []byte, n uint32, line []byte) []byte {
	return func(dst []byte, n uint32, line []byte) []byte {
		r := parseRow(line)
		dst = appendRowID(append(dst, `{"id":"batch_req_`...), b.ID, n)
		dst = append(append(dst, `","custom_id":`...), r.id...)
		dst = append(dst, `,"response":{"status_code":200,"request_id":`...)
		if s.cfg.Dialect == DialectOpenAI {
			dst = append(append(append(dst, '"'), requestID(b, n)...), `","body":`...)
		} else {
			dst = append(dst, `null,"body":`...)
		}
		dst = s.appendBody(dst, b.Seed, r, odd[n])
		return append(dst, "},\"error\":null}\n"...)
	}
}

// errorLine renders failed rows (contract, 7.2): the reason is JSON in a string.
func (s *Simulator) errorLine(b *batch, attempts []uint8, odd map[uint32]oddities) func(dst []byte, n uint32, line []byte) []byte {
	return func(dst []byte, n uint32, line []byte) []byte {
		r := parseRow(line)
		dst = appendRowID(append(dst, `{"id":"batch_req_`...), b.ID, n)
		dst = append(append(dst, `","custom_id":`...), r.id...)
		why := b.failure(r, attempts[n], odd[n])
		if s.cfg.Dialect == DialectOpenAI {
			return append(appendPlainFailure(append(dst, ','), why, requestID(b, n)), "}\n"...)
		}
		dst = append(dst, `,"response":null,"error":{"code":null,"message":`...)
		dst = appendString(dst, why.reason())
		return append(dst, "}}\n"...)
	}
}

// requestID is the upstream's name of the call, which Doubleword does not tell.
func requestID(b *batch, n uint32) []byte { return appendRowID([]byte("req_"), b.ID, ^n) }

// reply is one row's answer while it is rendered.
type reply struct {
	stream
	row   row
	words []string
	odd   oddities
}

// answerEpoch is where the created times of answers begin; seed and row decide the rest, so that an answer is the
// same whenever it is rendered.
const answerEpoch = 1_760_000_000

func (s *Simulator) appendAnswer(dst []byte, seed uint64, r row, odd oddities) []byte {
	a := &reply{stream: stream{seed: hashBytes(hashBytes(seed, r.url), r.body)}, row: r, words: s.words, odd: odd}
	switch r.endpoint() {
	case "/v1/embeddings":
		return a.appendEmbeddings(dst)
	case "/v1/completions":
		return a.appendCompletion(dst)
	case "/v1/responses":
		return a.appendResponse(dst)
	case "/v1/messages":
		return a.appendMessage(dst)
	default:
		return a.appendChat(dst)
	}
}

func (a *reply) created() int64 { return answerEpoch + int64(a.seed%(1<<23)) }

// appendID appends a quoted identifier such as "chatcmpl-0123456789abcdef".
func (a *reply) appendID(dst []byte, prefix string) []byte {
	dst = append(append(dst, '"'), prefix...)
	for _, word := range []uint64{mix(a.seed, hashString(prefix)), mix(a.seed, 1)} {
		text := strconv.FormatUint(word|1<<63, 16)
		dst = append(dst, text...)
	}
	return append(dst, '"')
}

func (a *reply) appendModel(dst []byte) []byte {
	if odd, ok := a.odd.of(FaultModelSubstituted); ok {
		return appendString(append(dst, `"model":`...), cmp.Or(odd.Text, "substitute/model"))
	}
	return append(append(dst, `"model":`...), lookup(a.row.body, "model")...)
}

// promptTokens counts four bytes a token, as the provider's estimate does.
func (a *reply) promptTokens() int { return tokens(len(a.row.body)) }

func tokens(bytes int) int { return max(1, (bytes+3)/4) }

// integer reads a whole number of the body, or the fallback.
func (a *reply) integer(fallback int, keys ...string) int {
	for _, key := range keys {
		if f, ok := number(lookup(a.row.body, key)); ok {
			return int(f)
		}
	}
	return fallback
}

func appendField(dst []byte, key string, n int) []byte {
	return strconv.AppendInt(append(dst, key...), int64(n), 10)
}
