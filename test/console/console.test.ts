/** The console in a real browser, on the real API and a worker: its flow, and every page at two widths in both colour schemes. */
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createCall } from '#ops/samples/call.ts';
import { installSample } from '#ops/samples/install.ts';
import { readSample } from '#ops/samples/read.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aTenant, type TestTenant } from '#test/support/factories.ts';
import { findChromium } from '../servers/chromium.ts';
import { builtConsole } from './built-console.ts';

const found = await findChromium();
if (found.path === null) process.stderr.write(`The tests of the console in a browser are skipped: ${found.reason}\n`);

describe.skipIf(found.path === null)('the console', () => {
  let cluster: Cluster;
  let tenant: TestTenant;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let runAddress: string;
  const faults: string[] = [];

  beforeAll(async () => {
    const { folder } = await builtConsole();
    cluster = await startCluster({ settings: { CONSOLE_DIR: folder } });
    tenant = await aTenant(cluster);
    const call = createCall(cluster.baseURL, await cluster.tokenFor(tenant.creator));
    await installSample(call, await readSample('order-approval'), { tenantID: tenant.id });
    browser = await chromium.launch({ executablePath: found.path ?? '', args: ['--no-sandbox'] });
    context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
    await context.addInitScript(
      "document.addEventListener('securitypolicyviolation', (event) => console.error(event.violatedDirective))",
    );
    page = await context.newPage();
    page.setDefaultTimeout(10_000);
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await cluster?.[Symbol.asyncDispose]();
  });
  afterEach(() => expect(faults.splice(0)).toEqual([]));

  test('signs in, starts the order sample, watches it, answers its questions and shows its result', async () => {
    await page.goto(`${cluster.baseURL}/console/sign-in?next=/t/${tenant.id}/runs`);
    await page.getByLabel('E-mail address').fill(tenant.creator.email);
    await page.keyboard.press('Enter');

    await page.getByRole('button', { name: 'Start a run' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Workflow').first().fill('Order');
    await page.getByRole('option', { name: 'Order approval' }).click();
    await dialog.getByLabel('orderID').fill('A-1');
    await dialog.getByLabel('customer').fill('<img src=x onerror=alert(1)>');
    await dialog.getByLabel('total').fill('900');
    await dialog.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('link', { name: 'Answer the question' }).waitFor();
    runAddress = page.url().replace(/\?.*/, '');
    await page.getByRole('link', { name: 'Answer the question' }).click();

    await page.getByRole('button', { name: 'Accept' }).click();
    await page.getByText('The question is answered.').waitFor();
    await page.goto(runAddress);
    await page.getByRole('link', { name: 'Answer the question' }).click();
    await page.getByRole('heading', { name: 'Delivery of order A-1' }).waitFor();
    // From here on without a reload: what follows is told by the socket.
    const watching = await context.newPage();
    await copySession(page, watching);
    await watching.goto(runAddress);
    await watching.getByRole('status').getByText('Waiting').waitFor();
    await page.getByRole('combobox', { name: 'Carrier' }).click();
    await page.getByRole('option', { name: 'express' }).click();
    await page.getByRole('button', { name: 'Send' }).click();

    await watching.getByRole('status').getByText('Completed').waitFor();
    await watching.getByLabel('Output of the run').getByText('"express"').waitFor();
    await watching.getByText('Timeline', { exact: true }).click();
    for (const step of ['Record the order', 'Store the decision', 'End'])
      await watching.getByRole('row', { name: new RegExp(`${step} Success`) }).waitFor();
    expect(await watching.getByRole('row').filter({ hasText: 'Success' }).count()).toBe(8);
    await watching.close();
  }, 40_000);

  test('a run is found by the filters in the address, and repeated from a step', async () => {
    await page.goto(`${cluster.baseURL}/console/t/${tenant.id}/runs?status=FAILED`);
    await page.getByText('No run matches the filter.').waitFor();
    await page.goto(`${cluster.baseURL}/console/t/${tenant.id}/runs?status=COMPLETED`);
    await page.getByRole('link', { name: 'Order approval' }).first().click();
    await page.getByRole('button', { name: 'Re-run' }).click();
    await page.getByRole('radio', { name: /^A step/ }).click();
    await page.getByRole('combobox', { name: /^Step/ }).click();
    await page.getByRole('option', { name: 'decide' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Re-run' }).click();

    await page.getByText('Repeats').waitFor();
    expect(page.url()).not.toContain(runAddress);
    await page.getByRole('status').getByText('Completed').waitFor();
    await page.getByText('Timeline', { exact: true }).click();
    await page.getByRole('row', { name: /Record the order.*reused/ }).waitFor();
    await page.getByRole('button', { name: 'Record the order' }).click();
    await page.getByText('The result was taken over').waitFor();
  }, 30_000);

  const pages = [
    { name: 'tenants', path: () => '/console/', shows: 'New tenant' },
    { name: 'home', path: () => `/console/t/${tenant.id}`, shows: 'Running now' },
    { name: 'runs', path: () => `/console/t/${tenant.id}/runs`, shows: 'Order approval' },
    { name: 'run, graph', path: () => `${new URL(runAddress).pathname}?view=graph`, shows: 'Approved at once' },
    { name: 'run, step', path: () => `${new URL(runAddress).pathname}?view=timeline&step=record`, shows: 'left by' },
    { name: 'inbox', path: () => `/console/t/${tenant.id}/inbox`, shows: 'No question waits' },
  ];

  test.each(pages)(
    '$name: no finding by axe, and no sideways scroll',
    async ({ path, shows }) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        for (const width of [1280, 400]) {
          await page.setViewportSize({ width, height: 800 });
          if (colorScheme === 'light' && width === 1280) await page.goto(cluster.baseURL + path());
          await page.getByText(shows).first().waitFor();
          expect({ colorScheme, width, ...(await findingsOn(page)) }).toEqual({
            ...{ colorScheme, width, violations: [], hasSidewaysScroll: false },
          });
        }
      }
    },
    20_000,
  );
});

async function findingsOn(page: Page): Promise<{ violations: string[]; hasSidewaysScroll: boolean }> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { axe: runner } = globalThis as unknown as {
      axe: {
        run(root: unknown, options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
      };
    };
    const { document, innerWidth } = globalThis as unknown as {
      document: { documentElement: { scrollWidth: number } };
      innerWidth: number;
    };
    const runOnly = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
    const { violations } = await runner.run(document, { runOnly });
    return {
      violations: violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`)),
      hasSidewaysScroll: document.documentElement.scrollWidth > innerWidth,
    };
  });
}

/** Sessions belong to their tab. */
async function copySession(from: Page, to: Page): Promise<void> {
  const session = await from.evaluate("sessionStorage.getItem('gantry.session')");
  await to.addInitScript(`sessionStorage.setItem('gantry.session', ${JSON.stringify(session)})`);
}
