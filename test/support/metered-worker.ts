import { expect } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { readSeries, scrape } from './metrics.ts';
import { type Spawned, spawnNode } from './process.ts';
import { eventually } from './settle.ts';

/** A worker process of runs, and what it serves about itself. */
export interface MeteredWorker extends Spawned {
  /** One series of its metrics. */
  metric(series: string): Promise<number>;
  /** Status and checks of its page. */
  readiness(): Promise<{ status: number; checks: JsonObject }>;
  /** Returns when the series has the value. */
  becomes(series: string, value: number): Promise<void>;
}

export const LEASE_VALID = 'gantry_lease_valid{process="worker"}';

export async function spawnMeteredWorker(env: Record<string, string>): Promise<MeteredWorker> {
  const port = await freePort();
  const spawned = spawnNode(['workers/main.ts', 'workflow.runs'], {
    ...env,
    METRICS_PORT: String(port),
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
  });
  const metric = async (series: string) => readSeries((await scrape(port)).text, series);
  return Object.assign(spawned, {
    metric,
    becomes: (series: string, value: number) => eventually(async () => expect(await metric(series)).toBe(value)),
    async readiness() {
      const { status, text } = await scrape(port, '/ready');
      const { success, status: inWords, checks } = JSON.parse(text);
      expect({ success, inWords }).toEqual({
        success: status === 200,
        inWords: status === 200 ? 'ready' : 'not ready',
      });
      return { status, checks };
    },
  });
}
