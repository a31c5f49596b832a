package proxy

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFrames(t *testing.T) {
	t.Parallel()
	const ack = "$JS.ACK.BATCHBUS_REQUESTS.ingest.1.2.3.4.0"
	frames := []frame{
		{raw: []byte("CONNECT {\"verbose\":false}\r\n"), verb: "CONNECT"},
		{raw: []byte("PUB a.b 5\r\nhello\r\n"), verb: "PUB", subject: "a.b"},
		{raw: []byte("pub a.b _INBOX.1 2\r\n\r\n\r\n"), verb: "PUB", subject: "a.b", reply: "_INBOX.1"},
		{raw: []byte("HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"), verb: "HPUB", subject: "a"},
		{raw: []byte("HPUB a r 12 12\r\nNATS/1.0\r\n\r\n\r\n"), verb: "HPUB", subject: "a", reply: "r"},
		{raw: []byte("PING\r\n"), verb: "PING"},
		{raw: []byte("MSG s 9 0\r\n\r\n"), verb: "MSG", subject: "s"},
		{raw: []byte("MSG s 9 " + ack + " 3\r\nabc\r\n"), verb: "MSG", subject: "s", reply: ack},
		{raw: []byte("HMSG s 9 r 12 13\r\nNATS/1.0\r\n\r\nx\r\n"), verb: "HMSG", subject: "s", reply: "r"},
		{raw: []byte("HMSG s 9 12 13\r\nNATS/1.0\r\n\r\nx\r\n"), verb: "HMSG", subject: "s"},
	}
	var text strings.Builder
	for _, f := range frames {
		text.Write(f.raw)
	}
	r := bufio.NewReader(iotest.OneByteReader(strings.NewReader(text.String())))
	for i, want := range frames {
		got, err := readFrame(r)
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		if string(got.raw) != string(want.raw) || got.verb != want.verb || got.subject != want.subject || got.reply != want.reply {
			t.Errorf("frame %d is %+v, want %+v", i, got, want)
		}
	}
	if _, err := readFrame(r); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}

func TestWhatIsNoFrameIsAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"PUB a\r\n", "PUB a b c 1\r\n", "PUB a x\r\n", "MSG a 1 9\r\nshort\r\n", "PING"} {
		if f, err := readFrame(bufio.NewReader(strings.NewReader(text))); err == nil {
			t.Errorf("%q is read as %+v", text, f)
		}
	}
}

func TestTheConsumerOfADelivery(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]string{
		"$JS.ACK.BATCHBUS_REQUESTS.ingest.1.2.3.4.0":        "ingest",
		"$JS.ACK._.hash.BATCHBUS_ROWS.planner.1.2.3.4.0.xy": "planner",
		"_INBOX.abc.def": "",
		"":               "",
	} {
		f := frame{verb: "MSG", reply: reply}
		if got := f.consumer(); got != want {
			t.Errorf("%q is of %q, want %q", reply, got, want)
		}
	}
	if (&frame{verb: "PUB", reply: "$JS.ACK.S.ingest.1.2.3.4.0"}).consumer() != "" {
		t.Error("a publish is no delivery")
	}
}
