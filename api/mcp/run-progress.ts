import type { Readable } from 'node:stream';
import type { ProgressToken, ServerContext } from '@modelcontextprotocol/server';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { isTerminal, type RunStatus } from '#shared/workflow/status.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { ToolAnswer, ToolCaller } from '../tools/tool.ts';

/** Less than the minute for which clients wait for an answer. */
const SECONDS = 50;
/** A run may have thousands of events a second, and a client shows the last one. */
const BETWEEN_MS = 100;

interface Followed {
  answer: ToolAnswer;
  token: ProgressToken;
  mcpReq: Pick<ServerContext['mcpReq'], 'signal' | 'notify'>;
}

/**
 * Reports the events of a run until it has ended, the client has gone, or the time is over. The answer is the handle, with the
 * outcome if there is one. The events are those of the stream of REST, whose permissions are checked while it is open.
 */
export async function followRun(
  registry: ToolRegistry,
  caller: ToolCaller,
  { answer, token, mcpReq: { signal, notify } }: Followed,
): Promise<ToolAnswer> {
  const { instanceID } = answer.body;
  if (typeof instanceID !== 'string' || answer.body.status !== undefined) return answer;
  const report = (progress: number, message: string) =>
    notify({ method: 'notifications/progress', params: { progressToken: token, progress, message } });
  await report(0, `Run ${instanceID} has started`);
  const outcome = await watch(registry, caller, { instanceID, signal, report });
  return outcome ? { ...answer, body: { ...answer.body, ...outcome } } : answer;
}

interface Watched {
  instanceID: string;
  signal: AbortSignal;
  report(progress: number, message: string): Promise<void>;
}

interface Message {
  seq: number;
  status: string;
  nodeID?: string;
  output?: unknown;
  outputOmitted?: boolean;
  error?: unknown;
}

async function watch(
  { inProcess }: ToolRegistry,
  caller: ToolCaller,
  { instanceID, signal, report }: Watched,
): Promise<object | undefined> {
  const path = `/api/v1/tenants/${caller.tenantID}/workflows/instances/${instanceID}/stream?lastSeq=0&seconds=${SECONDS}`;
  const { status, stream } = await inProcess.stream(caller, { method: 'get', url: path, signal });
  // Too many streams, for one: the handle is the answer then.
  if (status !== 200) return void stream.destroy();
  let outcome: object | undefined;
  let reportedAt = 0;
  const messages = (event: string, text: string) => {
    const message = JSON.parse(text) as Message;
    const isEnd = event === 'workflow_status_update' && isTerminal(message.status as RunStatus);
    if (isEnd) outcome = outcomeOf(message);
    const now = performance.now();
    if (!isEnd && now - reportedAt < BETWEEN_MS) return;
    reportedAt = now;
    const what = message.nodeID === undefined ? 'Run' : `Node ${message.nodeID}`;
    void report(message.seq, `${what}: ${message.status}`).catch(() => undefined);
  };
  await read(stream, ({ event = '', data }) => {
    if (event === 'workflow_status_update' || event === 'workflow_node_update') messages(event, data);
  });
  return outcome;
}

/** An output that is too large for a message is left to get_workflow_instance. */
function outcomeOf({ status, output, outputOmitted, error }: Message): object {
  return { status, ...(!outputOmitted && { output }), error: error ?? null };
}

/** Ends with the stream, also if the client goes away. */
async function read(stream: Readable, onEvent: (message: EventSourceMessage) => void): Promise<void> {
  const parser = createParser({ onEvent });
  try {
    for await (const chunk of stream.setEncoding('utf8')) parser.feed(chunk as string);
  } catch {
    // The client has gone, or the stream broke: the handle is the answer then.
  }
}
