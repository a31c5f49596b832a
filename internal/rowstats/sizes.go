package rowstats

import (
	"math"
	"math/bits"
)

// precision is how many buckets a doubling of the size has: a quantile is at most 1/256 too low.
const precision = 256

// buckets are enough for sizes of 64 bits.
const buckets = 2*precision + (64-9)*precision

// sizes is a histogram of sizes in bytes.
type sizes struct {
	counts      [buckets]int
	n           int
	least, most int64
	total       int64
}

func (s *sizes) add(size int64) {
	if s.n == 0 || size < s.least {
		s.least = size
	}
	s.most = max(s.most, size)
	s.total += size
	s.n++
	s.counts[bucket(size)]++
}

// bucket is where a size is counted: below 2*precision each has its own.
func bucket(size int64) int {
	shift := max(bits.Len64(uint64(size))-9, 0) // 9 bits are 2*precision sizes
	return shift*precision + int(size>>shift)
}

// floor is the smallest size of a bucket.
func floor(bucket int) int64 {
	if bucket < 2*precision {
		return int64(bucket)
	}
	shift := bucket/precision - 1
	return int64(bucket-shift*precision) << shift
}

// quantile is the size that the part q of all sizes does not exceed, by the nearest rank.
func (s *sizes) quantile(q float64) int64 {
	rank := int(math.Ceil(q * float64(s.n)))
	for i, seen := 0, 0; i < buckets; i++ {
		if seen += s.counts[i]; seen >= rank && seen > 0 {
			return min(max(floor(i), s.least), s.most)
		}
	}
	return s.most
}
