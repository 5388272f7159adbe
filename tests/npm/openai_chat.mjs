/** `openai`, Chat Completions. */

import OpenAI from "openai";

export const begun = (user) => [{ role: "user", content: user }];

export async function ask(job, talk) {
  const sdk = new OpenAI({ baseURL: `${job.base}/v1`, apiKey: "made-up", maxRetries: 0, timeout: 60_000 });
  const tools = job.tools.map(({ name, schema }) => ({ type: "function", function: { name, parameters: schema } }));
  const request = { model: "m", messages: talk, tools };
  let choice;
  if (job.way === "whole") choice = (await sdk.chat.completions.create(request)).choices[0];
  else if (job.way === "helper") choice = (await sdk.chat.completions.stream(request).finalChatCompletion()).choices[0];
  else choice = await added(await sdk.chat.completions.create({ ...request, stream: true }));
  const calls = (choice.message.tool_calls ?? []).map((call) => ({
    id: call.id,
    name: call.function.name,
    arguments: JSON.parse(call.function.arguments),
  }));
  return { text: choice.message.content ?? "", calls, order: null, finish: choice.finish_reason, back: choice.message };
}

/** A choice from its chunks, as the API's reference says to put them together. */
async function added(chunks) {
  const choice = { finish_reason: null, message: { role: "assistant", content: "" } };
  for await (const { choices } of chunks) {
    for (const { delta, finish_reason } of choices) {
      choice.finish_reason = finish_reason ?? choice.finish_reason;
      choice.message.content += delta.content ?? "";
      for (const piece of delta.tool_calls ?? []) {
        const calls = (choice.message.tool_calls ??= []);
        const call = (calls[piece.index] ??= { id: piece.id, type: piece.type, function: { name: "", arguments: "" } });
        call.function.name += piece.function?.name ?? "";
        call.function.arguments += piece.function?.arguments ?? "";
      }
    }
  }
  return choice;
}

export function results(answer, results) {
  const { role, content, tool_calls } = answer.back;
  const told = answer.calls.map((call, place) => ({ role: "tool", tool_call_id: call.id, content: results[place] }));
  return [{ role, content, tool_calls }, ...told];
}
