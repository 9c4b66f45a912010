import type { Readable } from 'node:stream';
import type { ServerContext } from '@modelcontextprotocol/server';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { isTerminal, type RunStatus } from '#shared/workflow/progress/status.ts';
import { DEFAULT_WAIT, waitsForRun } from '../tools/agent/runs.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import type { ToolArguments, ToolCaller, ToolResult } from '../tools/tool.ts';

/** Less than the minute for which clients wait for an answer. */
const SECONDS = 50;
/** Time between two reports: a run may have thousands of events a second, and a client shows only the last one. */
const BETWEEN_MS = 100;

/** Tools whose answer has the `instanceID` of a run. */
export const startsRun: ReadonlySet<string> = new Set([
  ...['execute_workflow', 'test_workflow', 'rerun_workflow_instance'],
  ...waitsForRun,
]);

type Request = Pick<ServerContext['mcpReq'], 'signal' | 'notify' | '_meta'>;

interface Started {
  name: string;
  args: ToolArguments;
  mcpReq: Request;
  /** Whether the client has cancelled the call, which is more than that its connection is gone. */
  isCancelled(): boolean;
}

/**
 * Starts a run, and stops it if its client cancels the call and may stop it. A client that shows progress, or asks to wait, is answered
 * when the run has ended or the time is over; others get the id of the run at once.
 */
export async function startRun(
  registry: ToolRegistry,
  caller: ToolCaller,
  { name, args, mcpReq, isCancelled }: Started,
): Promise<ToolResult> {
  const { seconds, others } = waitIn(name, args);
  // Called without the signal: the id of a run that is accepted while its client cancels would be lost.
  const answer = await registry.call(caller, name, others);
  const { instanceID } = answer.body;
  if (answer.status >= 400 || typeof instanceID !== 'string') return answer;
  const outcome = await follow(registry, caller, { instanceID, seconds, mcpReq });
  if (isCancelled()) await registry.call(caller, 'stop_workflow_instance', { instanceID });
  return outcome ? { ...answer, body: { ...answer.body, ...outcome } } : answer;
}

/**
 * Takes `wait` out of the arguments: this service waits itself, where it can be cancelled. A `wait` that the route
 * refuses stays.
 */
function waitIn(name: string, args: ToolArguments): { seconds: number; others: ToolArguments } {
  const isOfAgents = waitsForRun.has(name);
  const { wait = isOfAgents ? DEFAULT_WAIT : 0, ...others } = args;
  const seconds = Number(wait);
  const isWaiting = (isOfAgents || name === 'execute_workflow') && seconds > 0 && seconds <= 60;
  if (!isWaiting) return { seconds: 0, others: args };
  return { seconds, others: isOfAgents ? { ...others, wait: 0 } : others };
}

interface Followed {
  instanceID: string;
  /** Seconds that the client has asked to wait. */
  seconds: number;
  mcpReq: Request;
}

/**
 * Follows the events of a run until it has ended, the client has disconnected, or the time is over. They come from the stream of the REST
 * API, which checks permissions while it is open. Answers with the outcome if the run has ended.
 */
async function follow(
  registry: ToolRegistry,
  caller: ToolCaller,
  { instanceID, seconds, mcpReq: { signal, notify, _meta } }: Followed,
): Promise<object | undefined> {
  const token = _meta?.progressToken;
  if (token === undefined && seconds === 0) return undefined;
  const report = async (progress: number, message: string) => {
    if (token === undefined) return;
    await notify({ method: 'notifications/progress', params: { progressToken: token, progress, message } });
  };
  await report(0, `Run ${instanceID} has started`);
  const path = `/api/v1/tenants/${caller.tenantID}/workflows/instances/${instanceID}/stream?lastSeq=0&seconds=${seconds || SECONDS}`;
  const { status, stream } = await registry.inProcess.stream(caller, { method: 'get', url: path, signal });
  // The stream was refused, for instance because there are too many: the client then gets the id of the run only.
  if (status !== 200) return void stream.destroy();
  const end = await readToEnd(stream, report);
  return end && outcomeOf(registry, caller, { instanceID, end });
}

interface Message {
  seq: number;
  status: string;
  nodeID?: string;
  output?: unknown;
  outputOmitted?: boolean;
  error?: unknown;
}

/** Reads the stream to its end; returns the message about the end of the run, if it came. */
async function readToEnd(
  stream: Readable,
  report: (progress: number, message: string) => Promise<void>,
): Promise<Message | undefined> {
  let end: Message | undefined;
  let reportedAt = 0;
  await readEvents(stream, ({ event = '', data }) => {
    if (event !== 'workflow_status_update' && event !== 'workflow_node_update') return;
    const message = JSON.parse(data) as Message;
    const isEnd = event === 'workflow_status_update' && isTerminal(message.status as RunStatus);
    if (isEnd) end = message;
    const now = performance.now();
    if (!isEnd && now - reportedAt < BETWEEN_MS) return;
    reportedAt = now;
    const what = message.nodeID === undefined ? 'Run' : `Node ${message.nodeID}`;
    void report(message.seq, `${what}: ${message.status}`).catch(() => undefined);
  });
  return end;
}

/** An output that is too large for a message is read from the run, and left out if it is too large for an answer. */
async function outcomeOf(
  registry: ToolRegistry,
  caller: ToolCaller,
  { instanceID, end: { status, output, outputOmitted, error = null } }: { instanceID: string; end: Message },
): Promise<object> {
  if (!outputOmitted) return { status, output, error };
  const { body } = await registry.call(caller, 'get_workflow_instance', { instanceID });
  return { status, ...('output' in body && { output: body.output }), error };
}

/** Reads events until the stream ends or the client disconnects. */
async function readEvents(stream: Readable, onEvent: (message: EventSourceMessage) => void): Promise<void> {
  const parser = createParser({ onEvent });
  try {
    for await (const chunk of stream.setEncoding('utf8')) parser.feed(chunk as string);
  } catch {
    // The client has disconnected, or the stream broke: the client then gets the id of the run only.
  }
}
