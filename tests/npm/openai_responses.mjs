/** `openai`, the Responses API. `stream` takes its items from `response.output_item.done` alone, as Codex does. */

import OpenAI from "openai";

export const begun = (user) => [{ role: "user", content: user }];

export async function ask(job, talk) {
  const sdk = new OpenAI({ baseURL: `${job.base}/v1`, apiKey: "made-up", maxRetries: 0, timeout: 60_000 });
  const tools = job.tools.map(({ name, schema }) => ({ type: "function", name, strict: true, parameters: schema }));
  const request = { model: "m", input: talk, tools };
  let response = { status: null, output: [] };
  if (job.way === "whole") response = await sdk.responses.create(request);
  else if (job.way === "helper") response = await sdk.responses.stream(request).finalResponse();
  else {
    for await (const event of await sdk.responses.create({ ...request, stream: true })) {
      if (event.type === "response.output_item.done") response.output.push(event.item);
      if (event.type === "response.completed") response.status = event.response.status;
    }
  }
  const { output, status } = response;
  const said = output.filter((item) => item.type === "message").flatMap((item) => item.content);
  const calls = output
    .filter((item) => item.type === "function_call")
    .map((item) => ({ id: item.call_id, name: item.name, arguments: JSON.parse(item.arguments) }));
  const order = output.map((item) => (item.type === "function_call" ? "c" : "t")).join("");
  return { text: said.map((part) => part.text).join(""), calls, order, finish: status, back: output };
}

export function results(answer, results) {
  const told = answer.calls.map(({ id }, place) => ({
    type: "function_call_output",
    call_id: id,
    output: results[place],
  }));
  return [...answer.back.map(({ parsed_arguments, ...item }) => item), ...told];
}
