"""Asks a batchbus gateway with OpenAI's Python SDK: chat, tools, JSON schema, embeddings, responses and streams. Exit code 1 when one fails.

    pip install openai
    python check.py http://127.0.0.1:8080/v1 KEY MODEL EMBEDDING_MODEL
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from openai import OpenAI

base_url, key, model, embedding_model = sys.argv[1:5]
client = OpenAI(base_url=base_url, api_key=key, timeout=86400)  # as long as a batch may take
messages = [{"role": "user", "content": "Hello"}]
schema = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"], "additionalProperties": False}
tools = [{"type": "function", "function": {"name": "rate", "parameters": schema}}]
as_json = {"type": "json_schema", "json_schema": {"name": "rating", "schema": schema}}


def chat():
    return client.chat.completions.create(model=model, messages=messages).choices[0].message.content


def tool():
    choice = client.chat.completions.create(model=model, messages=messages, tools=tools, tool_choice="required").choices[0]
    return choice.message.tool_calls[0].function.name == "rate"


def structured():
    answer = client.chat.completions.create(model=model, messages=messages, response_format=as_json)
    return "score" in json.loads(answer.choices[0].message.content)


def embeddings():
    return len(client.embeddings.create(model=embedding_model, input=["one", "two"]).data) == 2


def stream():
    chunks = client.chat.completions.create(model=model, messages=messages, stream=True)
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


def accumulated():
    with client.chat.completions.stream(model=model, messages=messages, tools=tools) as events:
        return events.get_final_completion().choices[0].message


def responses():
    return client.responses.create(model=model, input="Hello").output_text


def response_stream():
    with client.responses.stream(model=model, input="Hello") as events:
        text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
        return text and text == events.get_final_response().output_text


checks = [chat, tool, structured, embeddings, stream, accumulated, responses, response_stream]
failed = 0
with ThreadPoolExecutor(len(checks)) as pool:
    for check, answer in [(check, pool.submit(check)) for check in checks]:
        try:
            good, why = answer.result(), ""
        except Exception as error:  # whatever the SDK raises is the finding
            good, why = False, f"{type(error).__name__}: {error}"
        failed += not good
        print("ok  " if good else "FAIL", check.__name__, why)
sys.exit(failed > 0)
