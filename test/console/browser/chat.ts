import { join } from 'node:path';
import { expect, test } from 'vitest';
import { aTenant, aWorkflow } from '#test/support/factories.ts';
import { startAIProvider } from '../../servers/ai-provider.ts';
import type { Stage } from './stage.ts';

/** `useChat` of the AI SDK, on the real API, a worker and a server of the OpenAI protocol. */
export function chatTests(stage: () => Stage): void {
  test('shows an answer as it comes, and a tool that waits until it is allowed', async () => {
    const { cluster, context, visit } = stage();
    await using provider = await startAIProvider();
    const tenant = await aTenant(cluster);
    const model = { provider: 'openai-compatible', baseURL: provider.baseURL, model: 'test-model' };
    expect((await cluster.as(tenant.creator).in(tenant).post('T/ai-config', model)).status).toBe(200);
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
    const script = await builtPage();
    await context.route('**/chat-page?*', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><body><script src="/chat.js" defer></script>' }),
    );
    await context.route('**/chat.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }));
    const token = await cluster.tokenFor(tenant.creator);
    const page = await visit(`${cluster.baseURL}/chat-page?tenant=${tenant.id}&token=${token}`);
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
    expect([before, await count()]).toEqual([1, 0]);
    await page.close();
    // With a route, all requests of all pages pass through the test.
    await context.unrouteAll();
  });
}

async function builtPage(): Promise<string> {
  const { build } = await import('vite');
  const built = await build({
    configFile: false,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"production"' },
    build: {
      write: false,
      minify: false,
      lib: { entry: join(import.meta.dirname, '../chat-page.mjs'), formats: ['iife'], name: 'chat' },
    },
  });
  const [output] = Array.isArray(built) ? built : [built];
  const [chunk] = output && 'output' in output ? output.output : [];
  if (chunk?.type !== 'chunk') throw new Error('The page was not built');
  return chunk.code;
}
