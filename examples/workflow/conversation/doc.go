// Package conversation reads what a model answered to a row, and makes the row that goes on from there:
//
//	row of stage 1     {"custom_id":"a", … "body":{ … "messages":[system, user]}}
//	its answer         {"choices":[{"message":{"role":"assistant","tool_calls":[…]}}]}
//	row of stage 2     {"custom_id":"a", … "body":{ … "messages":[system, user, assistant, tool]}}
//
// The assistant's message goes into the next row byte for byte, and of the row before everything stays as it was but for the messages and for a
// tool_choice that forces a call. All of it is pure: the same row, answer and results make the same next row, however often the program starts.
package conversation
