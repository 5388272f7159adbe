/** The AI SDK (`ai`), which runs the tools itself, with its providers for three APIs. opencode and its forks use it. */

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

globalThis.AI_SDK_LOG_WARNINGS = false; // they go to stdout

const MODELS = {
  openai_chat: (options) => createOpenAICompatible({ name: "local", ...options }).chatModel("m"),
  openai_responses: (options) => createOpenAI(options).responses("m"),
  anthropic: (options) => createAnthropic(options)("m"),
};

export async function converse(job) {
  const model = MODELS[job.wire]({ baseURL: `${job.base}/v1`, apiKey: "made-up" });
  const tools = Object.fromEntries(
    job.tools.map(({ name, schema }) => [
      name,
      tool({ inputSchema: jsonSchema(schema), execute: async () => job.results[name] }),
    ]),
  );
  const request = { model, tools, prompt: job.user, stopWhen: stepCountIs(3), maxRetries: 0 };
  let steps;
  if (job.way === "whole") steps = (await generateText(request)).steps;
  else {
    const stream = streamText({ ...request, onError: () => undefined }); // errors are parts of the stream, too
    for await (const part of stream.fullStream) if (part.type === "error") throw part.error;
    steps = await stream.steps;
  }
  if (steps.length !== 2) throw new Error(`${steps.length} steps`);
  const [first, last] = steps;
  return {
    text: first.text,
    calls: first.toolCalls.map((call) => [call.toolName, call.input]),
    order: null,
    finish: first.finishReason,
    final: last.text,
  };
}
