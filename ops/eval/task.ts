import type { Gantry } from '../client/index.ts';

/** Something that a person asks of an agent. It has a tenant of its own. */
export interface Task {
  name: string;
  /** The words of the person. They have no ids. */
  prompt: string;
  prepare(workspace: Workspace): Promise<Prepared>;
}

export interface Prepared {
  /** The calls of a client that does the task: it knows the prompt and what tools answer. The result is what it tells the person. */
  solve(tools: Tools): Promise<string>;
  /** Throws unless the tenant is as the person wanted it, and they were told what they asked. */
  check(told: string): Promise<void>;
}

/** The tenant of a task, as its owner. */
export interface Workspace {
  gantry: Gantry;
  path: { tenantID: string };
}

/** Calls a tool, and answers with its text. Throws when the answer is an error. */
export type Tools = (name: string, args?: Record<string, unknown>) => Promise<string>;

const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const ids = new RegExp(id, 'g');

/** The id that follows a text in an answer. */
export function idAfter(text: string, answer: string): string {
  const found = id.exec(answer.slice(answer.indexOf(text)))?.[0];
  if (!answer.includes(text) || found === undefined)
    throw new Error(`The answer has no id behind "${text}": ${answer.slice(0, 500)}`);
  return found;
}

/** The first id in the row of an answer that has a text, or the nth. */
export function idBeside(text: string, answer: string, nth = 0): string {
  const row = answer.split('\n').find((line) => line.includes(text) && id.test(line)) ?? '';
  const found = row.match(ids)?.[nth];
  if (found === undefined) throw new Error(`The answer has no row with "${text}": ${answer.slice(0, 500)}`);
  return found;
}

/** Finds the id of an asset as a model does. */
export async function find(tools: Tools, type: string, title: string): Promise<string> {
  return idBeside(title, await tools('find_assets', { query: title, types: [type] }));
}
