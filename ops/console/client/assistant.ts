import { queryOptions } from '@tanstack/react-query';
import { createParser } from 'eventsource-parser';
import type { ChatMessage, Chunk } from './chat-parts.ts';
import { APIError, body, rest } from './rest.ts';
import { currentToken } from './session.ts';
import type { Schemas } from './types.ts';

const TENANT = '/api/v1/tenants/{tenantID}';

export interface ChatIDs {
  tenantID: string;
  chatID: string;
}

/** The conversations of the caller, and whether there is a model to answer. */
export function chatsRead(tenantID: string) {
  return queryOptions({
    queryKey: ['chats', tenantID],
    queryFn: () => body(rest.GET(`${TENANT}/ai/chat/sessions`, { params: { path: { tenantID } } })),
  });
}

export function chatRead({ tenantID, chatID }: ChatIDs) {
  return queryOptions({
    queryKey: ['chat', tenantID, chatID],
    queryFn: async () => {
      const params = { path: { tenantID }, query: { id: chatID } };
      const { messages } = await body(rest.GET(`${TENANT}/ai/chat/session`, { params }));
      // Safe: the document leaves open what a part holds.
      return messages as unknown as ChatMessage[];
    },
  });
}

export async function forgetChat({ tenantID, chatID }: ChatIDs): Promise<void> {
  await body(rest.DELETE(`${TENANT}/ai/chat/session`, { params: { path: { tenantID }, query: { id: chatID } } }));
}

export async function stopAnswer(path: ChatIDs): Promise<void> {
  await body(rest.DELETE(`${TENANT}/ai/chat/stream/{chatID}/stream`, { params: { path } }));
}

interface Reading {
  signal: AbortSignal;
  onChunk: (chunk: Chunk) => void;
}

/** Sends a message, or decisions on calls of tools, and reads the answer as it is written. */
export async function askModel(
  { tenantID, chatID }: ChatIDs,
  { message, context }: { message: ChatMessage; context: object | null },
  reading: Reading,
): Promise<void> {
  const asked = { id: chatID, messages: [message], resumable: true, ...(context && { clientContext: context }) };
  await read(`/api/v1/tenants/${tenantID}/ai/chat/stream`, { method: 'POST', body: JSON.stringify(asked) }, reading);
}

/** Reads the answer that is being written from its beginning; does nothing if there is none. */
export function resumeAnswer({ tenantID, chatID }: ChatIDs, reading: Reading): Promise<void> {
  return read(`/api/v1/tenants/${tenantID}/ai/chat/stream/${chatID}/stream`, {}, reading);
}

async function read(path: string, request: RequestInit, { signal, onChunk }: Reading): Promise<void> {
  const headers = { authorization: `Bearer ${await currentToken()}`, 'content-type': 'application/json' };
  const response = await fetch(path, { ...request, headers, signal });
  if (!response.ok) throw await refusalOf(response);
  const parser = createParser({
    onEvent({ data }) {
      // Safe: the API writes chunks of the protocol.
      if (data !== '[DONE]') onChunk(JSON.parse(data) as Chunk);
    },
  });
  const texts = response.body?.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array<ArrayBuffer>, string>);
  const reader = texts?.getReader();
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) parser.feed(next.value);
}

async function refusalOf(response: Response): Promise<APIError> {
  const { error } = await response.json().catch(() => ({ error: undefined }));
  const { code = 'UNAVAILABLE', message = `The server answered ${response.status}`, details } = error ?? {};
  return new APIError({ status: response.status, code, message, details });
}

/** Faults of a graph that is not saved. */
export async function checkGraph(tenantID: string, graph: Schemas['WorkflowCheck']): Promise<Schemas['PlanProblem'][]> {
  return (await body(rest.POST(`${TENANT}/workflows/check`, { params: { path: { tenantID } }, body: graph }))).problems;
}

export async function createDraft(tenantID: string, workflow: Schemas['WorkflowCreate']): Promise<string> {
  const params = { path: { tenantID } };
  const given = { ...workflow, draft: true };
  return (await body(rest.POST(`${TENANT}/workflows`, { params, body: given }))).workflow.id;
}
