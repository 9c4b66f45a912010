import { expect, test } from 'vitest';
import { reasons } from '#shared/triggers/cron/reasons.ts';
import { aTenant, aWorkflow, chain } from '#test/support/factories.ts';
import { eventually } from '#test/support/settle.ts';
import { aMapRun } from './map-run.ts';
import { expectAccessible, type Stage } from './stage.ts';

/** Large runs, answers and texts: what is loaded and what is drawn of them. `npm run bench CONSOLE` measures how long that takes. */
export function largeTests(stage: () => Stage): void {
  test('a map of 20,000 items is watched to its end; a failed item and any other are found by one step', async () => {
    const { cluster, tenant, page, go, path } = stage();
    const { instanceID, goOn } = await aMapRun({ cluster, tenant }, { items: 20_000, failed: 412 });
    const address = path(`/runs/${instanceID}?view=graph&step=map`);
    const items = page.getByRole('region', { name: 'Items of the map' });
    await go(address);
    await items.getByText('17,800 of 20,000 items are done, 1 of them failed.').waitFor();
    await page.locator('[aria-label="map, Map, Waiting, 1 of 20,000 failed"]').waitFor();
    await goOn();
    await page.getByRole('status').getByText('Completed').waitFor({ timeout: 30_000 });
    await items.getByText('20,000 of 20,000 items are done').waitFor();
    await page.getByRole('button', { name: 'Close the step' }).click();
    await page.getByRole('button', { name: 'Input and output' }).click();
    await page.getByLabel('Output of the run').getByText('selectedBranch').waitFor();

    // Loaded anew, a page has kept nothing of the run.
    const listed = page.waitForResponse((response) => response.url().includes('/workflows/instances?'));
    await page.goto(cluster.baseURL + path('/runs'));
    await page.getByRole('link', { name: 'Many items' }).first().waitFor();
    // The run has an input of 109 kB by now, and an output of 0.5 MB.
    expect((await (await listed).body()).length).toBeLessThan(50_000);
    await go(path(`/runs/${instanceID}?view=graph`));
    await page.getByLabel('Output of the run').getByText('selectedBranch').waitFor();
    await page.locator('[aria-label="map, Map, Success, 1 of 20,000 failed"]').click();
    await items.getByRole('link', { name: 'Item 412 failed' }).waitFor();
    await expectAccessible(page, { name: 'map-items', shows: 'Go to the item', schemes: ['light'] });
    await items.getByRole('link', { name: 'Item 412 failed' }).click();
    await page.getByRole('heading', { name: 'each' }).waitFor();
    await page.getByRole('tab', { name: 'Error' }).waitFor();
    await page.getByText('Iteration (200, 1 failed)').waitFor();
    expect(new URL(page.url()).searchParams.get('step')).toBe('each@412');

    await go(address);
    await items.getByRole('textbox', { name: 'Number of an item' }).fill('20000');
    await items.getByRole('button', { name: 'Go to the item' }).click();
    await items.getByText('The items have the numbers 0 to 19,999').waitFor();
    await items.getByRole('textbox', { name: 'Number of an item' }).fill('19999');
    await items.getByRole('button', { name: 'Go to the item' }).click();
    await page.getByRole('heading', { name: 'each' }).waitFor();
    expect(new URL(page.url()).searchParams.get('step')).toBe('each@19999');
    await page.getByText('left by “yes”').waitFor();
  });

  test('an answer of 1,000 rows of 30 columns is scrolled and sorted, and the rows in view alone are drawn', async () => {
    const { cluster, tenant, page, go, path } = stage();
    const columns = Array.from({ length: 29 }, (_, n) => `md5((n + ${n})::text) as c${n}`);
    const made = await cluster
      .as(tenant.creator)
      .in(tenant)
      .post('T/queries', {
        ...{ dataQueryTitle: 'Long', datasourceType: 'tenantdb' },
        dataQueryOptions: { query: `select n, ${columns.join(', ')} from generate_series(1, 1000) n` },
      });
    await go(path(`/queries/${made.body.dataQuery.dataQueryID}`));
    const run = page.getByRole('tabpanel', { name: 'Run' }).getByRole('button', { name: 'Run' });
    const table = page.getByRole('table', { name: 'Rows of the answer' });
    const firstRow = () => table.getByRole('row').nth(1).getByRole('cell').first().textContent();
    await run.click();
    await page.getByText('1,000 rows').waitFor();
    await table.getByRole('cell', { name: '1', exact: true }).waitFor();
    expect(await table.getByRole('row').count()).toBeLessThan(50);
    await page.getByRole('region', { name: 'Rows of the answer' }).press('End');
    await table.getByRole('cell', { name: '1000', exact: true }).waitFor();
    expect(await table.getAttribute('aria-rowcount')).toBe('1001');
    expect(await table.getByRole('row').last().getAttribute('aria-rowindex')).toBe('1001');
    expect(await table.getByRole('row').count()).toBeLessThan(50);
    const head = table.getByRole('columnheader', { name: 'n', exact: true });
    await head.getByRole('button').press('Enter');
    await head.getByRole('button').press('Enter');
    await page.getByRole('region', { name: 'Rows of the answer' }).press('Home');
    await expect.poll(firstRow).toBe('1000');
    await table.getByRole('columnheader', { name: 'c7', exact: true }).getByRole('button').click();
    await expect.poll(firstRow).not.toBe('1000');
    const sortedBy = table.locator('[aria-sort="ascending"]');
    expect(await sortedBy.textContent()).toContain('c7');
    const widthOf = async () => (await head.boundingBox())?.width ?? 0;
    const width = await widthOf();
    await head.getByRole('button').press('Shift+ArrowRight');
    await expect.poll(widthOf).toBeGreaterThan(width + 10);
    await expectAccessible(page, { name: 'answer', shows: '1,000 rows' });
  });

  test('a graph of more than 30 steps has a small map; a step is added in view, and several are chosen by mouse and by keyboard', async () => {
    const { cluster, tenant, page, go, path } = stage();
    await page.setViewportSize({ width: 1280, height: 800 });
    const aGraph = (count: number) => {
      const steps = Array.from({ length: count - 2 }, (_, at) => [`log${at}`, { type: 'log', message: `${at}` }]);
      return aWorkflow(cluster, { tenant, title: `Has ${count} steps`, ...chain(Object.fromEntries(steps)) });
    };
    const map = page.getByRole('img', { name: 'Map of the graph' });
    await go(path(`/workflows/${(await aGraph(30)).id}`));
    await page.locator('[data-id="log0"]').waitFor();
    expect(await map.count()).toBe(0);
    await go(path(`/workflows/${(await aGraph(31)).id}`));
    await map.waitFor();
    await page.evaluate("localStorage.setItem('gantry.kinds', JSON.stringify({ log: 1000 }))");
    await page.getByRole('button', { name: 'Add a step', exact: true }).click();
    const most = page.getByRole('group', { name: 'Used most' }).getByRole('option');
    expect(await most.first().textContent()).toMatch(/^Log/);
    await most.first().click();
    await page.evaluate("localStorage.removeItem('gantry.kinds')");
    const panel = page.getByRole('complementary', { name: 'Step' });
    const canvas = page.getByRole('region', { name: /^Graph of the workflow/ });
    const added = page.locator('.react-flow__node.selected');
    await expect
      .poll(async () => isFree(await added.boundingBox(), await canvas.boundingBox(), await panel.boundingBox()))
      .toBe(true);

    await page.getByRole('button', { name: 'Close the step' }).click();
    const [one, other] = [page.locator('[data-id="log28"]'), page.locator('[data-id="log27"]')];
    await one.click({ position: { x: 20, y: 40 } });
    await other.click({ position: { x: 20, y: 40 }, modifiers: ['Control'] });
    await page.getByText('2 chosen').waitFor();
    await page.locator('.react-flow__pane').click({ position: { x: 5, y: 400 } });
    await one.press('Enter');
    await other.press('Control+Enter');
    await page.getByText('2 chosen').waitFor();
    await page.getByRole('button', { name: 'Duplicate' }).press('Enter');
    await page.getByText('2 chosen').waitFor();
    await page.getByText('Steps as a list').click();
    expect(await page.getByRole('row').count()).toBe(1 + 31 + 1 + 2);
  });

  test('versions, times of a cron job and questions of more than a page are reached; a skipped time leads to the run in its way', async () => {
    const { cluster, page, go } = stage();
    const tenant = await aTenant(cluster, { creator: stage().tenant.creator });
    const path = (rest: string) => `/console/t/${tenant.id}${rest}`;
    const client = cluster.as(tenant.creator).in(tenant);
    const steps = chain({ ask: { type: 'approval', title: 'Asks many' } });
    const { id } = await aWorkflow(cluster, { tenant, title: 'Has many of all', ...steps });
    await client.post(`T/workflows/${id}/execute/bulk`, { items: Array.from({ length: 51 }, () => ({ args: {} })) });
    await eventually(async () => {
      const { totalCount } = (await client.get('T/workflows/data-collection?status=PENDING&pageSize=1')).body;
      expect(totalCount).toBe(51);
    });
    const questions = page.getByRole('region', { name: 'Questions for you' }).getByRole('link', { name: 'Asks many' });
    await go(path('/inbox'));
    await expect.poll(() => questions.count()).toBe(50);
    await page.getByRole('button', { name: 'More' }).click();
    await expect.poll(() => questions.count()).toBe(1);
    await page.getByRole('button', { name: 'First page' }).click();
    await expect.poll(() => questions.count()).toBe(50);

    const job = { cronJobTitle: 'Is often in the way', cronJobType: 'workflow', cronJobSchedule: '0 3 1 1 *' };
    const { cronJobID } = (await client.post('T/cronjobs', { ...job, workflowID: id })).body.cronJob;
    const [{ instanceID: blocking }] = (await client.get(`T/workflows/instances?workflowID=${id}&limit=1`)).body
      .instances;
    await cluster.pool.query(
      `insert into cron_tick (id, tenant_id, cron_job_id, scheduled_at, created_at, trigger_type, status, outcome, instance_id, reason)
       select gen_random_uuid(), $1, $2, now() - n * interval '1 minute', now() - n * interval '1 minute', 'SCHEDULED',
         case n when 52 then 'SCHEDULED' else 'FAILURE' end, case n when 52 then 'fired' else 'skipped' end,
         case n when 52 then $3::uuid end, case n when 52 then null else $4 end
       from generate_series(1, 52) n`,
      [tenant.id, cronJobID, blocking, reasons.busy],
    );
    await go(path(`/cron/${cronJobID}`));
    const history = page.getByRole('region', { name: 'History' });
    await expect.poll(() => history.getByRole('row').count()).toBe(1 + 50);
    await history.getByRole('button', { name: 'More' }).click();
    await expect.poll(() => history.getByRole('row').count()).toBe(1 + 52);
    await history
      .getByRole('row', { name: /Skipped/ })
      .last()
      .getByRole('link', { name: 'that run' })
      .click();
    await page.getByRole('heading', { name: 'Has many of all' }).waitFor();
    expect(page.url()).toContain(blocking);

    const { workflowNodes } = (await client.get(`T/workflows/${id}`)).body.workflow;
    for (let n = 0; n < 51; n += 1) {
      const saved = workflowNodes.map((node: { data: object }) => ({
        ...node,
        data: { ...node.data, description: `${n}` },
      }));
      const { status } = await client.patch(`T/workflows/${id}`, { workflowNodes: saved, draft: true });
      expect(status).toBe(200);
    }
    await go(path(`/workflows/${id}`));
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Versions' }).click();
    const versions = page.getByRole('dialog').getByRole('row');
    await expect.poll(() => versions.count()).toBe(1 + 50);
    await page.getByRole('dialog').getByRole('button', { name: 'More' }).click();
    await expect.poll(() => versions.count()).toBe(1 + 52);
    await versions.last().getByText('(published)').waitFor();
    // Loaded anew, the page has none of the versions that the dialog before has read.
    await page.goto(cluster.baseURL + path(`/runs/${blocking}`));
    await page.getByRole('button', { name: 'Re-run' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'Version' }).click();
    await page.getByRole('option', { name: 'The published one (1)' }).click();
    await dialog.getByRole('button', { name: 'Offer older versions too' }).click();
    await dialog.getByRole('button', { name: 'Offer older versions too' }).waitFor({ state: 'detached' });
  });

  test.each([
    ['many lines', "select '<img src=x>', 12345 as number;\n", 25_000],
    ['one line', '<img src=x> 12345, ', 50_000],
  ])(
    'a field with a megabyte of code, in %s, draws what is in view alone, and keeps all of it when it is typed into',
    async (_, part, times) => {
      const { tenant, page, go, path } = stage();
      await go(path('/queries'));
      await page.evaluate(
        `sessionStorage.setItem('gantry.sql.${tenant.id}', ${JSON.stringify(part)}.repeat(${times}))`,
      );
      const text = page.getByRole('textbox', { name: 'SQL' });
      await go(path('/database?tab=sql'));
      await text.getByText('12345').first().waitFor();
      expect((await text.textContent())?.length).toBeLessThan(50_000);
      await text.press('Control+End');
      await page.keyboard.type(' typed');
      await text.getByText('typed').waitFor();
      expect((await text.textContent())?.length).toBeLessThan(50_000);
      expect(await page.evaluate(`sessionStorage.getItem('gantry.sql.${tenant.id}').length`)).toBe(
        part.length * times + ' typed'.length,
      );
      await page.evaluate(`sessionStorage.removeItem('gantry.sql.${tenant.id}')`);
    },
  );
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Whether a card is in the part of the canvas that the panel does not cover. */
function isFree(card: Box | null, canvas: Box | null, panel: Box | null): boolean {
  if (!card || !canvas || !panel) return false;
  const isBeside = card.x >= canvas.x && card.x + card.width <= panel.x;
  return isBeside && card.y >= canvas.y && card.y + card.height <= canvas.y + canvas.height;
}
