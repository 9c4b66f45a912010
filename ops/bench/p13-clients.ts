/** Clients of P13, in a process of their own: each asks again as soon as it is answered, on a connection of its own. */
import { Agent, request } from 'node:http';
import { z } from 'zod';
import { percentile } from './environment.ts';

const Load = z.object({
  url: z.url(),
  headers: z.record(z.string(), z.string()),
  clients: z.number(),
  seconds: z.number(),
});
export type Load = z.infer<typeof Load>;

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

async function measure({ url, headers, clients, seconds }: Load): Promise<Measured> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const times: number[] = [];
  const began = performance.now();
  const end = began + seconds * 1_000;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < end) {
        const asked = performance.now();
        await execute(url, headers, agent);
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

function execute(url: string, headers: Record<string, string>, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { method: 'POST', agent, headers: { ...headers, 'content-type': 'application/json' } });
    asking.once('error', reject);
    asking.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () => {
        if (response.statusCode === 200 && text.includes('"COMPLETED"')) resolve();
        else reject(new Error(`${response.statusCode}: ${text}`));
      });
    });
    asking.end('{}');
  });
}
