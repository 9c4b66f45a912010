/** The protocols of Anthropic and Google, spoken by servers on loopback: a call, a stream, what they count, and a refusal. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readChunks } from '../../../support/chat.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aTenant } from '../../../support/factories.ts';
import { json, type SeenRequest, startHTTP } from '../../../support/http-server.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['ai.calls'] });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const key = 'the-key-of-the-tenant';
const sse = (response: ServerResponse, events: object[]) => {
  response.setHeader('content-type', 'text/event-stream');
  for (const event of events)
    response.write(`${'type' in event ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`);
  response.end();
};

function answerAsAnthropic({ body }: SeenRequest, response: ServerResponse): void {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
  const usage = { input_tokens: 30, output_tokens: 7 };
  if (!JSON.parse(body).stream)
    return json(response, { ...message, content: [{ type: 'text', text: 'Hello.' }], stop_reason: 'end_turn', usage });
  const delta = (text: string) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
  sse(response, [
    {
      type: 'message_start',
      message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...[delta('Hel'), delta('lo.')],
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 7 } },
    { type: 'message_stop' },
  ]);
}

function answerAsGoogle({ url }: SeenRequest, response: ServerResponse): void {
  const usageMetadata = { promptTokenCount: 30, candidatesTokenCount: 7, totalTokenCount: 37 };
  const said = (text: string, finishReason?: string) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...(finishReason && { finishReason }) }],
    usageMetadata,
  });
  if (url?.includes(':streamGenerateContent')) return sse(response, [said('Hel'), said('lo.', 'STOP')]);
  json(response, said('Hello.', 'STOP'));
}

test.each([
  ['anthropic', answerAsAnthropic, 'x-api-key', ['/messages', '/messages']],
  [
    'google',
    answerAsGoogle,
    'x-goog-api-key',
    ['/models/m:generateContent', '/models/m:streamGenerateContent?alt=sse'],
  ],
] as const)('%s is called by its own protocol, and its tokens count', async (provider, answer, header, paths) => {
  let isRefusing = false;
  await using server = await startHTTP((request, response) =>
    isRefusing ? json(response, { error: { message: `no ${key}` } }, 401) : answer(request, response),
  );
  const tenant = await aTenant(cluster);
  const api = cluster.as(tenant.creator).in(tenant);
  const config = { provider, model: 'm', apiKey: key, baseURL: server.origin };
  expect((await api.post('T/ai-config', config)).status).toBe(200);

  const tested = await api.post('T/ai-config/test');
  const chunks = await readChunks(
    await fetch(`${cluster.baseURL}/api/v1/tenants/${tenant.id}/ai/chat/stream`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await cluster.tokenFor(tenant.creator)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ id: 'a', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] }),
    }),
  );
  const { usage } = (await api.get('T/ai/usage')).body;
  isRefusing = true;
  const refused = await api.post('T/ai-config/test');

  expect(tested).toMatchObject({ status: 200 });
  expect(chunks.filter(({ type }) => type === 'text-delta').map(({ delta }) => delta)).toEqual(['Hel', 'lo.']);
  expect(server.seen.slice(0, 2).map(({ url, headers }) => [url, headers[header]])).toEqual(
    paths.map((path) => [path, key]),
  );
  expect(usage.today.used).toBe(74);
  expect(refused).toMatchObject({ status: 502, body: { error: { details: { reason: 'authentication' } } } });
  expect(JSON.stringify(refused.body)).not.toContain(key);
});
