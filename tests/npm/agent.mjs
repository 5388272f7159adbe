/**
 * An agent on one SDK: `node agent.mjs CLIENT`, where CLIENT.mjs stands beside this file.
 *
 * It reads jobs from stdin and writes what became of each to stdout, one JSON object a line, in order:
 *
 *   {base, way, wire, user, tools: [{name, schema}], results: {name: text}}
 *   → {text, calls: [[name, arguments]], order, finish, final} or {error}
 *
 * base     the API's base URL, without /v1
 * way      "whole" (one reply), "stream" (its events), "helper" (the SDK's own accumulator)
 * results  what each tool answers; a call of any other tool is an error, and so is a call without an id of its own
 * order    "t" for a text, "c" for a call, as they followed each other; null where the API or the SDK has no order
 * final    the text of the second reply, asked for with the results
 *
 * A client exports `ask(job, talk)`, one request, and `results(answer, results)`, what goes behind the conversation; or
 * `converse(job)` where the SDK runs the tools itself.
 */

import { createInterface } from "node:readline";

const client = await import(`./${process.argv[2]}.mjs`);

async function converse(job) {
  const talk = client.begun(job.user);
  const first = await client.ask(job, talk);
  const ids = first.calls.map((call) => call.id);
  if (client.identified !== false && (ids.some((id) => !id) || new Set(ids).size !== ids.length)) {
    throw new Error(`calls without ids of their own: ${JSON.stringify(ids)}`);
  }
  const results = first.calls.map((call) => resultOf(job, call.name));
  const last = await client.ask(job, [...talk, ...client.results(first, results)]);
  const { text, order, finish } = first;
  return { text, calls: first.calls.map((call) => [call.name, call.arguments]), order, finish, final: last.text };
}

function resultOf(job, name) {
  if (!(name in job.results)) throw new Error(`a call of ${name}, which is no tool`);
  return job.results[name];
}

for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  let told;
  try {
    told = await (client.converse ?? converse)(job);
  } catch (error) {
    told = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
