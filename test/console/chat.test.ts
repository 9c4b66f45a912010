/** `useChat` of the AI SDK in a real browser, on the real API, a worker and a server of the OpenAI protocol. */
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aTenant, aWorkflow } from '#test/support/factories.ts';
import { type AIProviderServer, startAIProvider } from '../servers/ai-provider.ts';
import { findChromium } from '../servers/chromium.ts';

const found = await findChromium();
if (found.path === null) process.stderr.write(`The test of useChat in a browser is skipped: ${found.reason}\n`);

describe.skipIf(found.path === null)('useChat', () => {
  let cluster: Cluster;
  let provider: AIProviderServer;
  let browser: Browser;
  let script: string;

  beforeAll(async () => {
    provider = await startAIProvider();
    script = await builtPage();
    cluster = await startCluster({ workers: ['ai.calls'], settings: provider.settings });
    browser = await chromium.launch({ executablePath: found.path ?? '', args: ['--no-sandbox'] });
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await cluster?.[Symbol.asyncDispose]();
    await provider?.[Symbol.asyncDispose]();
  });

  test('shows an answer as it comes, and a tool that waits until it is allowed', async () => {
    const tenant = await aTenant(cluster);
    const workflow = await aWorkflow(cluster, { tenant });
    const last = Promise.withResolvers<void>();
    provider.play(
      {
        pieces: ['I am ', 'looking.'],
        until: last.promise,
        calls: [{ name: 'search_resources', arguments: { query: 'A' } }],
      },
      { pieces: ['There it is.'], calls: [{ name: 'delete_workflow', arguments: { workflowID: workflow.id } }] },
      { pieces: ['It is deleted.'] },
    );
    const page = await browser.newPage();
    page.setDefaultTimeout(25_000);
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    await page.route('**/chat-page**', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><body><script src="/chat.js" defer></script>' }),
    );
    await page.route('**/chat.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }));
    const token = await cluster.tokenFor(tenant.creator);
    await page.goto(`${cluster.baseURL}/chat-page?tenant=${tenant.id}&token=${token}`);
    const count = async () =>
      (await cluster.pool.query('select id from workflow where tenant_id = $1', [tenant.id])).rowCount;

    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('I am', { exact: true }).waitFor();
    last.resolve();
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    const before = await count();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('It is deleted.').waitFor();
    await page.getByText('ready', { exact: true }).waitFor();
    const shown = await page.getByLabel('assistant').locator('p').allInnerTexts();

    expect(shown).toEqual([
      ...['I am looking.', 'search_resources: output-available', 'There it is.'],
      ...['delete_workflow: output-available', 'It is deleted.'],
    ]);
    expect([before, await count(), faults]).toEqual([1, 0, []]);
  });
});

async function builtPage(): Promise<string> {
  const { build } = await import('vite');
  const built = await build({
    configFile: false,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"' },
    build: {
      write: false,
      minify: false,
      lib: { entry: join(import.meta.dirname, 'chat-page.mjs'), formats: ['iife'], name: 'chat' },
    },
  });
  const [output] = Array.isArray(built) ? built : [built];
  const [chunk] = output && 'output' in output ? output.output : [];
  if (chunk?.type !== 'chunk') throw new Error('The page was not built');
  return chunk.code;
}
