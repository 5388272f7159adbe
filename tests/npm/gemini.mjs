/** `@google/genai`. Its helper is the chat, which keeps the conversation itself. Calls need no ids in this API. */

import { GoogleGenAI } from "@google/genai";

export const identified = false;
export const begun = (user) => [{ role: "user", parts: [{ text: user }] }];

export async function ask(job, talk) {
  const sdk = new GoogleGenAI({ apiKey: "made-up", httpOptions: { baseUrl: job.base, timeout: 60_000 } });
  const functionDeclarations = job.tools.map(({ name, schema }) => ({ name, parametersJsonSchema: schema }));
  const model = "gemini-x";
  const config = { tools: [{ functionDeclarations }] };
  let replies;
  if (job.way === "whole") replies = [await sdk.models.generateContent({ model, config, contents: talk })];
  else if (job.way === "stream") replies = await sdk.models.generateContentStream({ model, config, contents: talk });
  else {
    const chat = sdk.chats.create({ model, config, history: talk.slice(0, -1) });
    replies = await chat.sendMessageStream({ message: talk.at(-1).parts });
  }
  const answer = { text: "", calls: [], order: "", finish: null, back: [] };
  for await (const reply of replies) {
    const [candidate] = reply.candidates;
    answer.finish = candidate.finishReason ?? answer.finish;
    for (const part of candidate.content?.parts ?? []) take(answer, part);
  }
  return answer;
}

function take(answer, part) {
  if (part.functionCall) {
    answer.calls.push({ name: part.functionCall.name, arguments: part.functionCall.args ?? {} });
    answer.order += "c";
  } else if (part.text) {
    answer.text += part.text;
    answer.order += answer.order.endsWith("t") ? "" : "t";
  } else return;
  answer.back.push(part);
}

export function results(answer, results) {
  const told = answer.calls.map(({ name }, place) => {
    return { functionResponse: { name, response: { result: results[place] } } };
  });
  return [
    { role: "model", parts: answer.back },
    { role: "user", parts: told },
  ];
}
