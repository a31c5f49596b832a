// Package block is the codec of ROWS messages: what ingest stores of one fetch for one job, and what the planner, the uploader and the
// collector read back. It is pure: bytes in, bytes out.
//
// A block is a head and then entries, to the end of the message:
//
//	"bbk1" kind                                kind 'r': rows, 's': a seal
//	seal:  uvarint(expected rows + 1, or 0)    then uvarint sequence of its message in BATCHBUS_REQUESTS
//	entry: flags                               good or refused, payload left out
//	       source[16] id[16] row[16]           which input, which custom_id, which row: 128 bits of SHA-256 each
//	       uvarint sequence, uvarint line      where it stood in BATCHBUS_REQUESTS
//	       string custom_id
//	       good:    uvarint group              an index; the next new one is followed by window, url and model
//	                bytes tail                 the wire line from behind its custom_id: ,"method":"POST",…}
//	       refused: string code, message, hint; uvarint column; bytes payload (the row as received)
//
// A string is a uvarint length and its bytes. A good row's tail is a copy of what the publisher sent, so that the upload is a copy too.
//
// A block whose payloads do not fit into a message is stored twice: whole as an object, and as the message's body with the payloads
// left out ([Builder.Envelope]), so that the planner never reads the object.
package block
