import type { LanguageModel, wrapLanguageModel } from 'ai';
import { quoteLossy } from '#shared/core/lossless-json.ts';
import { loadSDK } from './load-sdk.ts';

type Model = Exclude<LanguageModel, string>;

/**
 * A model whose calls of tools have texts in place of numbers that a double does not hold. The package parses the arguments, and would
 * round such numbers.
 */
export async function withExactArguments(model: Model): Promise<Model> {
  const sdk = await loadSDK();
  return sdk.wrapLanguageModel({
    // Safe: the packages of the providers make models of the version that the middleware is for.
    model: model as AnyModel,
    middleware: {
      async wrapGenerate({ doGenerate }) {
        const result = await doGenerate();
        return { ...result, content: result.content.map(exactPart) };
      },
      async wrapStream({ doStream }) {
        const { stream, ...rest } = await doStream();
        const exact = new TransformStream<StreamPart, StreamPart>({
          transform: (part, controller) => controller.enqueue(exactPart(part)),
        });
        return { stream: stream.pipeThrough(exact), ...rest };
      },
    },
  });
}

type AnyModel = Parameters<typeof wrapLanguageModel>[0]['model'];
type Middleware = Extract<Parameters<typeof wrapLanguageModel>[0]['middleware'], { wrapStream?: unknown }>;
type StreamResult = Awaited<ReturnType<NonNullable<Middleware['wrapStream']>>>;
type StreamPart = StreamResult['stream'] extends ReadableStream<infer Part> ? Part : never;

function exactPart<T extends { type: string }>(part: T): T {
  return part.type === 'tool-call' && 'input' in part && typeof part.input === 'string'
    ? { ...part, input: quoted(part.input) }
    : part;
}

/** Fields of arguments that a provider sends as an object: `functionCall.args` of Google, `tool_use.input` of Anthropic. */
const within = ['args', 'input'];

/** `fetch` for providers that send arguments as objects, which the package parses with the rest of the answer. */
export function fetchExactly(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (...request) => {
    const response = await fetch(...request);
    const type = response.headers.get('content-type') ?? '';
    if (!response.body || !/json|event-stream/.test(type)) return response;
    const quoting = new QuotingStream({ byLines: type.includes('event-stream') });
    const text = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(quoting);
    const { status, statusText, headers } = response;
    return new Response(text.pipeThrough(new TextEncoderStream()), { status, statusText, headers });
  };
}

/** Quotes numbers in a text as a whole, or in each of its lines, which are events. */
class QuotingStream extends TransformStream<string, string> {
  constructor({ byLines }: { byLines: boolean }) {
    let parts: string[] = [];
    super({
      transform(text, controller) {
        const end = byLines ? text.lastIndexOf('\n') + 1 : 0;
        parts.push(text.slice(0, end || text.length));
        if (end === 0) return;
        controller.enqueue(parts.join('').split('\n').map(quotedArguments).join('\n'));
        parts = [text.slice(end)];
      },
      flush: (controller) => controller.enqueue(quotedArguments(parts.join(''))),
    });
  }
}

function quotedArguments(text: string): string {
  return quoted(text, within);
}

function quoted(text: string, names?: readonly string[]): string {
  try {
    return quoteLossy(text, names ? { within: names } : {});
  } catch {
    // Too deep, or not JSON: the reader of the text says so.
    return text;
  }
}
