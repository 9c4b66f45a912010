import type { Client } from '@modelcontextprotocol/client';
import type { Prepared, Task, Tools } from './task.ts';

export interface Outcome {
  task: string;
  /** Calls of tools. */
  calls: number;
  /** Bytes of UTF-8 of the arguments that the agent wrote and the answers that it read. */
  bytes: number;
  /** Absent: the task was done. */
  failure?: string;
}

/** Acts for the person: it gets the prompt and the tools, and answers with what it tells them. */
export type Agent = (prompt: string, tools: Tools) => Promise<string>;

/** Has a task done that is prepared. Without an agent, by the calls of the task itself. */
export async function drive(
  { name: task, prompt }: Task,
  prepared: Prepared,
  client: Pick<Client, 'callTool'>,
  agent?: Agent,
): Promise<Outcome> {
  const outcome: Outcome = { task, calls: 0, bytes: 0 };
  const tools: Tools = async (name, args = {}) => {
    outcome.calls += 1;
    const { content, isError } = await client.callTool({ name, arguments: args });
    const text = (content as { text?: string }[]).map((part) => part.text ?? '').join('\n');
    outcome.bytes += Buffer.byteLength(JSON.stringify(args)) + Buffer.byteLength(text);
    if (isError) throw new Error(`${name}: ${text}`);
    return text;
  };
  try {
    await prepared.check(agent ? await agent(prompt, tools) : await prepared.solve(tools));
  } catch (error) {
    outcome.failure = error instanceof Error ? error.message : String(error);
  }
  return outcome;
}
