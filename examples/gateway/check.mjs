// Asks a batchbus gateway with OpenAI's Node SDK: chat, tools, JSON schema, embeddings, responses and streams. Exit code 1 when one fails.
//
//     npm install openai
//     node check.mjs http://127.0.0.1:8080/v1 KEY MODEL EMBEDDING_MODEL
import OpenAI from 'openai';

const [baseURL, apiKey, model, embeddingModel] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, timeout: 24 * 3600 * 1000 }); // as long as a batch may take
const messages = [{ role: 'user', content: 'Hello' }];
const schema = { type: 'object', properties: { score: { type: 'integer' } }, required: ['score'], additionalProperties: false };
const tools = [{ type: 'function', function: { name: 'rate', parameters: schema } }];
const asJSON = { type: 'json_schema', json_schema: { name: 'rating', schema } };
const message = async (more) => (await client.chat.completions.create({ model, messages, ...more })).choices[0].message;

const checks = {
  chat: async () => (await message({})).content,
  tool: async () => (await message({ tools, tool_choice: 'required' })).tool_calls[0].function.name === 'rate',
  structured: async () => 'score' in JSON.parse((await message({ response_format: asJSON })).content),
  embeddings: async () => (await client.embeddings.create({ model: embeddingModel, input: ['one', 'two'] })).data.length === 2,
  stream: async () => {
    let text = '';
    for await (const chunk of await client.chat.completions.create({ model, messages, stream: true })) {
      text += chunk.choices[0]?.delta?.content ?? '';
    }
    return text;
  },
  accumulated: async () => (await client.chat.completions.stream({ model, messages, tools }).finalChatCompletion()).choices[0].message,
  responses: async () => (await client.responses.create({ model, input: 'Hello' })).output_text,
  responseStream: async () => {
    const events = client.responses.stream({ model, input: 'Hello' });
    let text = '';
    for await (const event of events) if (event.type === 'response.output_text.delta') text += event.delta;
    return text && text === (await events.finalResponse()).output_text;
  },
};

const results = await Promise.all(Object.entries(checks).map(async ([name, check]) => {
  let good, why = '';
  try { good = Boolean(await check()); } catch (error) { good = false; why = String(error); }
  console.log(good ? 'ok  ' : 'FAIL', name, why);
  return good;
}));
process.exitCode = results.every(Boolean) ? 0 : 1;
