import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '#shared/config.ts';
import type { WorkerContext } from '#workers/context.ts';
import { deniedBy } from '#workers/outbound/own-places.ts';
import { type Deployment, startDeployment } from '../support/deployment.ts';
import { noops } from '../support/graphs.ts';
import { eventually } from '../support/settle.ts';

let deployment: Deployment;
let worker: WorkerContext;
beforeAll(async () => {
  deployment = await startDeployment({ METRICS_PORT: '0' });
  worker = await deployment.startWorker();
});
afterAll(() => deployment[Symbol.asyncDispose]());

async function scrape(path = '/metrics') {
  const response = await fetch(`http://127.0.0.1:${worker.metricsPort}${path}`);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

test('the page in the guides names exactly the metrics of a worker', async () => {
  const { text } = await scrape();
  const page = await readFile('ops/guides/metrics.md', 'utf8');

  const served = [...text.matchAll(/^# TYPE (\S+) (\S+)/gm)].map(([, name, kind]) =>
    kind === 'counter' ? `${name?.replace(/_total$/, '')}_total counter` : `${name} ${kind}`,
  );
  const named = [...page.matchAll(/^\| `(gantry_\w+)` \| (\w+) \|/gm)].map(([, name, kind]) => `${name} ${kind}`);
  expect(named.sort()).toEqual(served.sort());
});

test('what runs have done is counted, and the sweep is seen', async () => {
  const versionID = await deployment.saveVersion(noops(3));
  await deployment.runs.acceptMany([deployment.newRun(versionID), deployment.newRun(versionID)]);
  await deployment.settle();

  await eventually(async () => {
    const { text } = await scrape();
    expect(readSeries(text, 'gantry_commit_steps_total')).toBeGreaterThanOrEqual(2);
    expect(readSeries(text, 'gantry_sweep_leader')).toBe(1);
    expect(readSeries(text, 'gantry_lease_valid')).toBe(1);
    expect(readSeries(text, 'gantry_sweep_steps_total{step="refill"}')).toBeGreaterThan(0);
  });
});

test('the answer is OpenMetrics; other paths are not found', async () => {
  const { type, text } = await scrape();

  expect(type).toMatch(/^application\/openmetrics-text/);
  expect(text).toMatch(/# EOF\n$/);
  expect(text).not.toContain(deployment.tenantID);
  expect((await scrape('/')).status).toBe(404);
});

test('tenants do not reach the listener', () => {
  const { places } = deniedBy(readConfig({ ...deployment.env, HOST: '127.0.0.1', METRICS_PORT: '9464' }));

  expect(places).toContainEqual({ host: '127.0.0.1', port: 9464 });
});

function readSeries(text: string, series: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.split(' ')[1]);
}
