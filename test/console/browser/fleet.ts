import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Board, startBoard } from '#ops/board.ts';
import { newID } from '#shared/core/ids.ts';
import { queues } from '#shared/messaging/queues/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { testLogger } from '#test/support/environment.ts';
import { anOperator, aTenant, aWorkflow, type TestOperator } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { expectAccessible, type Stage } from './stage.ts';

/** Another one for each try. */
const aTitle = () => `Acme ${newID()} <img src=x onerror=alert(1)> \u202eright to left`;
const REASON = 'no running worker knows nodes of the kind teleport';

/** The page of people on call, which the board serves. */
export function fleetTests(stage: () => Stage): void {
  let board: Board;
  let baseURL: string;
  beforeAll(async () => {
    const { env } = stage().cluster;
    await runsOfThePast(stage());
    board = await startBoard({ config: readConfig({ ...env, BOARD_PORT: '0' }), logger: testLogger });
    baseURL = `http://127.0.0.1:${board.port}`;
    await signIn(await anOperator(stage().cluster));
  });
  /** Without a look at bull-board, whose own pages ask for fonts that the policy refuses. */
  const signIn = async ({ email, password }: TestOperator) => {
    const { request } = stage().context;
    const page = await (await request.get(`${baseURL}/login`)).text();
    const [, formToken = ''] = /name="formToken" value="(\w+)"/.exec(page) ?? [];
    const form = { formToken, email, password };
    const answer = await request.post(`${baseURL}/login`, { form, headers: { origin: baseURL }, maxRedirects: 0 });
    expect(answer.headers().location).toBe('/');
  };
  afterAll(async () => {
    // The page would go on asking a board that is gone.
    await stage().page.goto('about:blank');
    await board?.[Symbol.asyncDispose]();
  });

  test('"tenant Acme says nothing happens": the reason is read after one click, and found by the title too', async () => {
    const { cluster, page } = stage();
    const title = aTitle();
    const named = { name: new RegExp(`^${title.slice(0, 41)}`) };
    const tenant = await aTenant(cluster, { tenantTitle: title });
    const { id } = await aWorkflow(cluster, {
      tenant,
      title,
      ...graph({ start: { type: 'start' }, away: { type: 'teleport' } }, ['start>away']),
    });
    await page.goto(`${baseURL}/fleet`);
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    const asked: string[] = [];
    // Code of charts may still be on its way.
    page.on('request', (request) => !request.url().includes('/assets/') && asked.push(request.url()));
    const { status } = await cluster.as(tenant.creator).in(tenant).post(`T/workflows/${id}/execute`, {});
    expect(status).toBe(200);
    const tenants = page.getByRole('table', { name: 'Tenants by backlog' });
    await tenants.getByRole('link', named).waitFor();
    // Told by the socket, and not asked for.
    expect(asked).toEqual([]);
    await eventually(async () => {
      const { rows } = await cluster.pool.query(
        'select from workflow_instance where tenant_id = $1 and hand_backs <> 0',
        [tenant.id],
      );
      expect(rows).toHaveLength(1);
    });
    await tenants.getByRole('link', named).click();
    await page.getByRole('row', { name: new RegExp(REASON) }).waitFor();
    await expectAccessible(page, { name: 'fleet-tenant', shows: REASON });
    await expectWholeTables(page);

    await page.goto(`${baseURL}/fleet`);
    await page.getByLabel('Find a tenant by its title').fill(title.slice(0, 46).toLowerCase());
    await page.keyboard.press('Enter');
    await page.getByRole('table', { name: 'Tenants that were found' }).getByRole('link', named).click();
    await page.getByText(REASON).waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
  });

  test('every figure says how old it is, is drawn and stands in a table, and every queue leads into the board', async () => {
    const { page, context } = stage();
    await page.goto(`${baseURL}/fleet`);
    for (const name of [
      ...['Backlog', 'Tenants by backlog', 'Workers', 'Failures by code', 'Slow nodes'],
      ...['Runs by hour', 'Waits and times of runs'],
    ])
      await page
        .getByRole('region', { name, exact: true })
        .getByText(/read \d+ s ago/)
        .waitFor();
    await page.getByText(/seen since this page was opened, for \d+ s/).waitFor();
    await page.getByRole('row', { name: /^Live \d+ of \d+ \S+ (?:just now|.+ ago) – \S/ }).waitFor();
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    await page.getByRole('row', { name: /^batch .*10 min/ }).waitFor();
    const hours = page.getByRole('table', { name: 'Runs by hour' }).getByRole('row');
    expect(await hours.count()).toBe(25);
    // Newest first, below the heads: the runs of three hours ago, or of four if an hour has begun meanwhile.
    const past = (await hours.allInnerTexts()).slice(4, 6);
    expect(past.filter((text) => /\t40\t/.test(text))).toHaveLength(1);
    await expectAccessible(page, { name: 'fleet', shows: 'Tenants by backlog' });
    await expectWholeTables(page);
    const links = page.getByRole('region', { name: 'Queues on the board' }).getByRole('link');
    expect(await links.count()).toBeGreaterThan(queues.length);
    for (const queue of [links.getByText('workflow.runs', { exact: true }), links.getByText('listener.events.dlq')]) {
      const answer = await context.request.get(baseURL + (await queue.getAttribute('href')));
      expect(await answer.text()).toContain('static/js/lib-react');
    }
  });

  test('queues that an operator has paused are named until they are resumed', async () => {
    const { cluster, page } = stage();
    const queue = cluster.context.messaging.backplane.queue('cron.ticks');
    const notice = page.locator('.notice', { hasText: 'Paused by an operator' });
    await queue.pause();
    try {
      await page.goto(`${baseURL}/fleet`);
      await notice.getByRole('link', { name: 'cron.ticks' }).waitFor();
    } finally {
      await queue.resume();
    }
    // Told by the socket.
    await notice.waitFor({ state: 'hidden' });
  });

  test('a restored deployment says so, and with which command it goes on, on the page of the fleet and on Home', async () => {
    const { cluster, page, open, tenant } = stage();
    await page.goto(`${baseURL}/fleet`);
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    const home = await open(tenant.creator, { at: '' });
    await cluster.pool.query(
      `insert into deployment_restore (id, backup_id, snapshot_at, phase) values ($1, $1, '2026-03-01T03:00:00Z', 'loaded')`,
      [newID()],
    );
    try {
      // Told by the socket.
      await page.getByText('gantry resume', { exact: true }).waitFor();
      await expectAccessible(page, { name: 'fleet-restored', shows: 'Restored from a backup' });
      await home.reload();
      await home.getByText('gantry resume', { exact: true }).waitFor();
      await expectAccessible(home, { name: 'home-restored', shows: 'Restored from a backup' });
    } finally {
      await cluster.pool.query('update deployment_restore set resumed_at = now()');
    }
    await page.getByText('Restored from a backup').waitFor({ state: 'detached' });
    await home.close();
  });

  test('charts follow the colours and the width; commands lead to tenants and queues, and ? lists the keys', async () => {
    const { cluster, page } = stage();
    const title = aTitle();
    const tenant = await aTenant(cluster, { tenantTitle: title });
    // New figures would draw it anew too.
    let isHalted = false;
    await page.routeWebSocket(/socket\.io/, (socket) => {
      socket.connectToServer().onMessage((message) => isHalted || socket.send(message));
    });
    await page.goto(`${baseURL}/fleet`);
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor();
    const canvas = page.getByRole('region', { name: 'Runs by hour', exact: true }).locator('canvas');
    await expect.poll(() => coloursOn(canvas)).toEqual(expect.arrayContaining(['24,100,171', '201,42,42']));
    isHalted = true;
    const command = page.getByRole('combobox', { name: 'Command' });
    await page.keyboard.press('Control+k');
    await command.fill('colours dark');
    await page.keyboard.press('Enter');
    await expect.poll(() => coloursOn(canvas)).toEqual(expect.arrayContaining(['116,192,252', '255,135,135']));
    await page.setViewportSize({ width: 320, height: 800 });
    await expect.poll(async () => (await canvas.boundingBox())?.width ?? 999).toBeLessThan(300);
    isHalted = false;
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('button', { name: 'Colours' }).click();
    await page.getByRole('menuitem', { name: 'As the system' }).click();

    await page.keyboard.press('?');
    const keys = page.getByRole('dialog', { name: 'Keys' });
    await keys.getByText('Follows a link, finds a tenant').waitFor();
    expect(await keys.getByText('graph').count()).toBe(0);
    await page.keyboard.press('Escape');
    await keys.waitFor({ state: 'hidden' });
    await page.keyboard.press('Control+k');
    for (const option of ['Open the queue listener.events.dlq', 'Sign out']) {
      await command.fill(option);
      await page.getByRole('option', { name: option, exact: true }).waitFor();
    }
    await command.fill(`go to the tenant ${title.slice(0, 41).toLowerCase()}`);
    await page.getByRole('option', { name: /^Go to the tenant Acme/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('No run of this tenant waits.').waitFor();
    expect(new URL(page.url()).pathname).toBe(`/fleet/tenants/${tenant.id}`);
  });
}

/** Forty of some hours ago, of which four in ten failed an hour later, and three that ended a moment ago after a wait of 10 minutes. */
async function runsOfThePast({ cluster }: Stage): Promise<void> {
  const { id } = await aTenant(cluster);
  await cluster.pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, deadline_at, caller, class, status, created_at, started_at, completed_at)
     select uuidv7(at - clock_timestamp()), $1, $1, now(), '{}', 'batch', case when n % 10 < 4 then 'FAILED' else 'COMPLETED' end, at,
       at + interval '10 minutes', case when n <= 40 then at + interval '1 hour' else now() end
     from generate_series(1, 43) n, lateral (
       select case when n <= 40 then date_trunc('hour', now(), 'UTC') - interval '3 hours' else now() - interval '20 minutes' end as at
     ) times`,
    [id],
  );
}

interface Canvas {
  width: number;
  height: number;
  getContext(kind: '2d'): { getImageData(...of: [number, number, number, number]): { data: Uint8ClampedArray } };
}

/** Those of opaque pixels. */
function coloursOn(canvas: Locator): Promise<string[]> {
  return canvas.evaluate((element) => {
    const drawn = element as unknown as Canvas;
    const { width, height } = drawn;
    const { data } = drawn.getContext('2d').getImageData(0, 0, width, height);
    const found = new Set<string>();
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255) found.add(data.slice(at, at + 3).join(','));
    return [...found];
  });
}

/** No table is scrolled sideways on the narrowest telephone. */
async function expectWholeTables(page: Page): Promise<void> {
  await page.setViewportSize({ width: 320, height: 800 });
  const cut = `[...document.querySelectorAll('.scroller')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)`;
  expect(await page.evaluate(cut)).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 800 });
}
