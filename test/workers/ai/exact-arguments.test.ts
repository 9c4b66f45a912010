import { expect, test } from 'vitest';
import { objectIn } from '#shared/apps/ai/objects.ts';
import type { AISettings } from '#shared/apps/ai/providers.ts';
import { type SeenRequest, startHTTP } from '#test/support/http-server.ts';
import { loadSDK } from '#workers/ai/load-sdk.ts';
import { openModel } from '#workers/ai/open-model.ts';
import { toolSetOf } from '#workers/ai/tools.ts';

/** Three numbers that a double does not hold, and one with a zero at its end. */
const args = '{"n":[12345678901234567890.5,1e400,1.10],"deep":{"id":7615917337495251231}}';
const exact = { n: ['12345678901234567890.5', '1e400', 1.1], deep: { id: '7615917337495251231' } };
const text = JSON.stringify(args);

/** An answer that calls a tool, whole and as a stream, by each protocol. A number that is not among the arguments stays one. */
const answers: Record<'openai-compatible' | 'anthropic' | 'google', { whole: string; events: string[] }> = {
  'openai-compatible': {
    whole: `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls",
      "message":{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"add","arguments":${text}}}]}}]}`,
    events: [
      `{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"add","arguments":${text}}}]},"finish_reason":null}]}`,
      '{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}',
      '[DONE]',
    ],
  },
  anthropic: {
    whole: `{"id":"1","type":"message","role":"assistant","model":"m","stop_sequence":null,"stop_reason":"tool_use",
      "usage":{"input_tokens":1,"output_tokens":1},"content":[{"type":"tool_use","id":"c","name":"add","input":${args}}]}`,
    events: [
      '{"type":"message_start","message":{"id":"1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}',
      '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"add","input":{}}}',
      `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":${JSON.stringify(args.slice(0, 20))}}}`,
      `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":${JSON.stringify(args.slice(20))}}}`,
      '{"type":"content_block_stop","index":0}',
      '{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":1}}',
      '{"type":"message_stop"}',
    ],
  },
  google: {
    whole: `{"candidates":[{"avgLogprobs":-0.12345678901234567890,\n"content":{"role":"model","parts":[{"functionCall":{"name":"add",\n"args":${args}}}]},"index":0,"finishReason":"STOP"}],
      "usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`,
    events: [
      `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"add","args":${args}}}]},"index":0,"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`,
    ],
  },
};

const isStream = ({ url, body }: SeenRequest) => url.includes('stream') || body.includes('"stream":true');

test.each(Object.entries(answers))(
  '%s: arguments that a double does not hold are texts, in an answer and in a stream',
  async (provider, { whole, events }) => {
    await using server = await startHTTP((request, response) => {
      response.setHeader('content-type', isStream(request) ? 'text/event-stream' : 'application/json');
      if (!isStream(request)) return void response.end(whole);
      // A number is cut between two writes.
      const sent = events.map((event) => `data: ${event}\n\n`).join('');
      const middle = sent.indexOf('90.5') + 1 || 10;
      response.write(sent.slice(0, middle), () => response.end(sent.slice(middle)));
    });
    const settings = { provider, model: 'm', apiKey: 'k', baseURL: server.origin } as AISettings;
    const model = await openModel(settings, Object.assign(globalThis.fetch, {}) as never);
    const { generateText, streamText } = await loadSDK();
    const tools = await toolSetOf([{ name: 'add', description: 'adds', inputSchema: { type: 'object' } } as never]);
    const request = { model, tools, prompt: 'add', maxRetries: 0 };

    const answered = await generateText(request);
    const streamed = await streamText(request).toolCalls;

    expect(answered.toolCalls.map(({ input }) => input)).toEqual([exact]);
    expect(streamed.map(({ input }) => input)).toEqual([exact]);
  },
);

test('numbers of an object that a model writes as a text are kept as well', () => {
  expect(objectIn(`Here it is: ${args}`)).toEqual(exact);
});
