import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type HTTPServer, type SeenRequest, startHTTP } from '../support/http-server.ts';

/** The provider's behaviour at one request. */
export interface AIScript {
  /** The pieces of the answer. */
  pieces?: readonly string[];
  /** Calls of tools, after the pieces. */
  calls?: readonly { name: string; arguments: unknown }[];
  /** Before each piece. */
  pauseMs?: number;
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
  /** Refuses with this status. */
  status?: number;
  headers?: Readonly<Record<string, string>>;
  /** Never answers. */
  hangs?: boolean;
  /** In place of the answer. */
  lie?: 'broken-json' | 'unknown-tool' | 'cut';
  /** Awaited before the last piece. */
  until?: Promise<void>;
}

/** A server of the OpenAI protocol on loopback, which does as it is told. */
export interface AIProviderServer extends AsyncDisposable {
  baseURL: string;
  settings: { AI_PROVIDER: string; AI_BASE_URL: string; AI_MODEL: string };
  seen: SeenRequest[];
  /** Requests whose client went away before the end of the answer. */
  abandoned(): number;
  /** The scripts of the next requests, in their order and in place of earlier ones; those after them get the usual answer. */
  play(...scripts: AIScript[]): void;
}

/** A model that is asked for an object answers with a query or a workflow. */
const usual: AIScript = { pieces: ['{"dataQueryTitle": "One", ', '"dataQueryOptions": {"query": "select 1"}}'] };
const usualWorkflow: AIScript = {
  pieces: ['{"title": "None", "workflowEdges": [], "workflowNodes": [{"id": "start", "type": "start", "data": {}}]}'],
};
const ownUsage = { prompt_tokens: 20, completion_tokens: 5 };

export async function startAIProvider(): Promise<AIProviderServer> {
  const scripts: AIScript[] = [];
  const server: HTTPServer = await startHTTP((request, response) =>
    answer(scripts.shift() ?? usualFor(request), request, response),
  );
  const baseURL = `${server.origin}/v1`;
  return {
    baseURL,
    settings: { AI_PROVIDER: 'openai-compatible', AI_BASE_URL: baseURL, AI_MODEL: 'test-model' },
    seen: server.seen,
    abandoned: server.abandoned,
    play: (...next) => void scripts.splice(0, scripts.length, ...next),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function usualFor({ body }: SeenRequest): AIScript {
  return body.includes('You write one workflow') ? usualWorkflow : usual;
}

async function answer(script: AIScript, request: SeenRequest, response: ServerResponse): Promise<void> {
  const { status, headers = {}, hangs, lie } = script;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (hangs) return;
  if (status !== undefined) {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: `refused with ${request.headers.authorization}`, type: 'test' } }));
    return;
  }
  if (JSON.parse(request.body).stream === true) return stream(script, response);
  response.setHeader('content-type', 'application/json');
  const { pieces = [], usage = ownUsage, pauseMs = 0 } = script;
  await sleep(pauseMs * pieces.length);
  await script.until;
  if (lie === 'broken-json') return void response.end('{"id": "1", "choices": [');
  const calls = callsOf(script);
  const message = {
    role: 'assistant',
    content: pieces.join(''),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop';
  response.end(JSON.stringify({ ...common, choices: [{ index: 0, message, finish_reason }], usage }));
}

const common = { id: 'chatcmpl-1', object: 'chat.completion', created: 1_790_000_000, model: 'test-model' };
const unknownTool = { name: 'no_such_tool', arguments: { a: 1 } };

function callsOf({ lie, calls = [] }: AIScript): object[] {
  const wanted = lie === 'unknown-tool' ? [unknownTool] : calls;
  return wanted.map(({ name, arguments: args }, index) => ({
    ...{ index, id: `call-${index + 1}`, type: 'function' },
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  }));
}

async function stream(script: AIScript, response: ServerResponse): Promise<void> {
  const { pieces = [], pauseMs = 0, usage = ownUsage, lie } = script;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  const send = async (data: object | string) => {
    const text =
      typeof data === 'string' ? data : JSON.stringify({ ...common, object: 'chat.completion.chunk', ...data });
    if (!response.destroyed && !response.write(`data: ${text}\n\n`)) await once(response, 'drain');
  };
  const delta = (content: string) => ({
    choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }],
  });
  for (const [index, piece] of pieces.entries()) {
    if (pauseMs > 0) await sleep(pauseMs);
    if (index === pieces.length - 1) await script.until;
    if (response.destroyed) return;
    await send(delta(piece));
  }
  if (lie === 'cut') return void response.destroy();
  if (lie === 'broken-json') await send('{"choices": [');
  const calls = callsOf(script);
  if (calls.length > 0) await send({ choices: [{ index: 0, delta: { tool_calls: calls }, finish_reason: null }] });
  await send({ choices: [{ index: 0, delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }] });
  if (usage) await send({ choices: [], usage });
  await send('[DONE]');
  response.end();
}
