/** `@anthropic-ai/sdk`, the Messages API. */

import Anthropic from "@anthropic-ai/sdk";

export const begun = (user) => [{ role: "user", content: user }];

export async function ask(job, talk) {
  const sdk = new Anthropic({ baseURL: job.base, apiKey: "made-up", maxRetries: 0, timeout: 60_000 });
  const tools = job.tools.map(({ name, schema }) => ({ name, input_schema: schema }));
  const request = { model: "m", max_tokens: 100, messages: talk, tools };
  let message;
  if (job.way === "whole") message = await sdk.messages.create(request);
  else if (job.way === "helper") message = await sdk.messages.stream(request).finalMessage();
  else message = await added(await sdk.messages.create({ ...request, stream: true }));
  const { content, stop_reason } = message;
  const text = content.filter((block) => block.type === "text").map((block) => block.text);
  const calls = content
    .filter((block) => block.type === "tool_use")
    .map(({ id, name, input }) => ({ id, name, arguments: input }));
  const order = content.map((block) => (block.type === "tool_use" ? "c" : "t")).join("");
  return { text: text.join(""), calls, order, finish: stop_reason, back: content };
}

/** A message from its events, as the API's reference says to put them together. */
async function added(events) {
  const message = { content: [], stop_reason: null };
  const written = [];
  for await (const event of events) {
    if (event.type === "content_block_start") {
      message.content[event.index] = { ...event.content_block };
      written[event.index] = "";
    } else if (event.type === "content_block_delta") {
      if (event.delta.type === "text_delta") message.content[event.index].text += event.delta.text;
      else written[event.index] += event.delta.partial_json;
    } else if (event.type === "content_block_stop" && message.content[event.index].type === "tool_use") {
      message.content[event.index].input = JSON.parse(written[event.index] || "{}");
    } else if (event.type === "message_delta") message.stop_reason = event.delta.stop_reason;
  }
  return message;
}

export function results(answer, results) {
  const told = answer.calls.map(({ id }, place) => ({ type: "tool_result", tool_use_id: id, content: results[place] }));
  return [
    { role: "assistant", content: answer.back },
    { role: "user", content: told },
  ];
}
