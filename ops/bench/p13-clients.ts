/** Clients of P4, P5, P6 and P13, in a process of their own: each asks again as soon as it is answered, on a connection of its own. */
import { Agent, request } from 'node:http';
import { z } from 'zod';
import { percentile } from './environment.ts';

const Load = z.object({
  url: z.url(),
  method: z.enum(['GET', 'POST']).default('POST'),
  headers: z.record(z.string(), z.string()),
  clients: z.number(),
  seconds: z.number(),
  /** Requests of all clients together, if it is not the time that ends them. */
  count: z.number().default(Number.MAX_SAFE_INTEGER),
  body: z.string().default('{}'),
  /** Part of every right answer. */
  answer: z.string().default('"COMPLETED"'),
  /** Every answer counts, refusals too. */
  mayRefuse: z.boolean().default(false),
});
export type Load = z.input<typeof Load>;

export interface Measured {
  runs: number;
  seconds: number;
  p50: number;
  p99: number;
}

process.on('message', (message) => {
  measure(Load.parse(message)).then(
    (measured) => process.send?.(measured satisfies Measured),
    (error: unknown) => {
      throw error;
    },
  );
});

async function measure({ clients, seconds, count, ...each }: z.output<typeof Load>): Promise<Measured> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const times: number[] = [];
  let left = count;
  const began = performance.now();
  const end = began + seconds * 1_000;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (left > 0 && performance.now() < end) {
        left -= 1;
        const asked = performance.now();
        await execute(each, agent);
        times.push(performance.now() - asked);
      }
    }),
  );
  agent.destroy();
  const round = (ms: number) => Number(ms.toFixed(2));
  return {
    runs: times.length,
    seconds: (performance.now() - began) / 1_000,
    p50: round(percentile(times, 50)),
    p99: round(percentile(times, 99)),
  };
}

type Each = Pick<z.output<typeof Load>, 'url' | 'method' | 'headers' | 'body' | 'answer' | 'mayRefuse'>;

function execute({ url, method, headers, body, answer, mayRefuse }: Each, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const type = method === 'POST' && { 'content-type': 'application/json' };
    const sent = request(url, { method, agent, headers: { ...headers, ...type } });
    sent.once('error', reject);
    sent.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () => {
        if (mayRefuse || (response.statusCode === 200 && text.includes(answer))) resolve();
        else reject(new Error(`${response.statusCode}: ${text}`));
      });
    });
    sent.end(method === 'POST' ? body : undefined);
  });
}
