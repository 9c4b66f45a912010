import { chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { builtConsole } from '../console/built-console.ts';
import { findChromium } from '../servers/chromium.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aMember, aTenant, aWidget, aWorkflow, chain, type TestTenant } from '../support/factories.ts';
import { type Spawned, spawnNode } from '../support/process.ts';
import { eventually } from '../support/settle.ts';

const resources = new AsyncDisposableStack();
let cluster: Cluster;
let tenant: TestTenant;
let settings: Record<string, string>;
let url: string;

beforeAll(async () => {
  cluster = resources.use(await startCluster({ workers: false }));
  tenant = await aTenant(cluster);
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  settings = { ...cluster.env, METRICS_PORT: '0', CONSOLE_DIR: await builtConsole(), PORT: String(port) };
});
afterAll(() => resources.disposeAsync());

/** Returns when the process answers. */
async function startAPI(): Promise<Spawned> {
  await using starting = new AsyncDisposableStack();
  const api = starting.use(spawnNode(['api/main.ts'], settings));
  await eventually(async () => expect((await fetch(`${url}/ready`)).status).toBe(200));
  starting.move();
  return api;
}

const startWorker = () => spawnNode(['workers/main.ts'], settings);

const found = await findChromium();
if (found.path === null) process.stderr.write(`The test of restarts below a page is skipped: ${found.reason}\n`);

test.skipIf(found.path === null)(
  'a page shows a run to its end, each step once, although API and worker are killed meanwhile and the page is loaded anew',
  async () => {
    const ask = { type: 'dataCollection', title: 'Who?', fields: [{ key: 'name', label: 'Name', required: true }] };
    const graph = chain(
      { first: { type: 'delay', delayMs: 1 }, ask, last: { type: 'delay', delayMs: 1 } },
      {
        who: '{{ctx.collectedData.name}}',
      },
    );
    const workflow = await aWorkflow(cluster, { tenant, ...graph });
    const aWidgetKey = async (type: string, config: object) =>
      `widget_${(await aWidget(cluster, { tenant, type, config: config as never })).id}_${type}`;
    const events = { onClick: [{ type: 'TRIGGER_WORKFLOW', alias: 'w' }] };
    const content = 'Steps: {{workflows.w.steps | map: "nodeID" | sort | join: ","}}; who: {{workflows.w.output.who}}';
    const appPageConfig = {
      widgets: [
        await aWidgetKey('button', { properties: { label: 'Begin' }, events }),
        await aWidgetKey('text', { properties: { content } }),
      ],
      dataSources: [{ alias: 'w', type: 'workflow', workflowID: workflow.id }],
    };
    const { body } = await cluster
      .as(tenant.creator)
      .in(tenant)
      .post('T/app-pages', { appPageTitle: 'P', appPageConfig });
    const viewer = await aMember(cluster, { tenant, can: ['appPage.read', 'workflow.read', 'widget.execute'] });
    const session = {
      ...{ token: await cluster.tokenFor(viewer), email: viewer.email, renewal: { kind: 'development' } },
      expiresAt: Date.now() + 3_000_000,
    };

    await using api = await startAPI();
    await using worker = startWorker();
    await using browser = await chromium.launch({ executablePath: found.path ?? '', args: ['--no-sandbox'] });
    const page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    await page.addInitScript(
      `if (origin !== 'null') sessionStorage.setItem('gantry.session', ${JSON.stringify(JSON.stringify(session))})`,
    );
    await page.goto(`${url}/console/t/${tenant.id}/pages/${body.appPage.id}`);
    await page.getByRole('button', { name: 'Begin' }).click();
    const run = page.locator('.page-run');
    await run.getByRole('textbox', { name: 'Name' }).waitFor();
    await page.getByText('Steps: first,start;').waitFor();

    await Promise.all([api.kill('SIGKILL'), worker.kill('SIGKILL')]);
    await page.getByTitle('The connection is lost; it is tried again').waitFor();
    await using _again = await startAPI();
    await page.getByTitle('Changes are shown as they happen').waitFor();
    expect(await page.locator('.page-run').count()).toBe(1);
    await run.getByRole('textbox', { name: 'Name' }).fill('Ada');
    await run.getByRole('button', { name: 'Send' }).click();
    await run.getByRole('textbox', { name: 'Name' }).waitFor({ state: 'detached' });
    // No worker runs yet: the page is loaded anew, and still knows its run.
    await page.reload();
    await run.waitFor();
    await using _worker = startWorker();
    await page.getByText('Steps: ask,end,first,last,start; who: Ada').waitFor();
    expect(await page.locator('.page-run').count()).toBe(1);
    const { rows } = await cluster.pool.query('select status from workflow_instance where workflow_id = $1', [
      workflow.id,
    ]);
    expect(rows).toEqual([{ status: 'COMPLETED' }]);
  },
);
