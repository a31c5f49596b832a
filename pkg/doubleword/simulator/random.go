package simulator

import (
	"encoding/binary"
	"encoding/hex"
)

// mix is one step of splitmix64 over two words: cheap, stable over releases and platforms, good enough to choose by.
func mix(a, b uint64) uint64 {
	z := a + 0x9e3779b97f4a7c15*(b+1)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// hashBytes hashes eight bytes at a time: a row of 1 KB must cost well under a microsecond.
func hashBytes(seed uint64, b []byte) uint64 {
	h := mix(seed, uint64(len(b)))
	for ; len(b) >= 8; b = b[8:] {
		h = (h ^ binary.LittleEndian.Uint64(b)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	var tail [8]byte
	copy(tail[:], b)
	return mix(h, binary.LittleEndian.Uint64(tail[:]))
}

func hashString(s string) uint64 { return hashBytes(0, []byte(s)) }

// unitFloat maps a hash to [0,1).
func unitFloat(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// stream is a deterministic sequence of words from one hash.
type stream struct{ seed, n uint64 }

func (s *stream) next() uint64 {
	s.n++
	return mix(s.seed, s.n)
}

// below returns a number in [0,n).
func (s *stream) below(n int) int { return int(s.next() % uint64(n)) }

// shuffled returns the order in which rows run: input order, mixed within blocks as concurrent workers mix it.
func shuffled(rows []uint32, seed uint64) []uint32 {
	const workers = 16
	for start := 0; start < len(rows); start += workers {
		block := rows[start:min(start+workers, len(rows))]
		r := stream{seed: mix(seed, uint64(start))}
		for i := len(block) - 1; i > 0; i-- {
			j := r.below(i + 1)
			block[i], block[j] = block[j], block[i]
		}
	}
	return rows
}

// appendUUID appends a random-looking (version 4) UUID made of two hashes.
func appendUUID(dst []byte, hi, lo uint64) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	for i, cut := range [][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, b[cut[0]:cut[1]])
	}
	return dst
}

// appendRowID appends the row's bare UUID, stable for the life of the batch and different in every batch.
func appendRowID(dst []byte, batchID string, row uint32) []byte {
	h := hashString(batchID)
	return appendUUID(dst, mix(h, uint64(row)), mix(^h, uint64(row)))
}
