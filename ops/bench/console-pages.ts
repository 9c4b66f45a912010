/** The process of row CONSOLE: the console's test stage, on the servers that the row has started. Prints one JSON line a figure. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { aMapRun } from '#test/console/browser/map-run.ts';
import { openStage, type Stage } from '#test/console/browser/stage.ts';
import { type Work, workOf } from '#test/console/browser/trace.ts';
import { findChromium } from '#test/servers/chromium.ts';
import setup from '#test/setup/global.ts';
import { aWidget, aWorkflow } from '#test/support/factories.ts';
import { graph, noop } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import type { PrintedFigure } from './on-test-servers.ts';

const NODES = 200;
const ITEMS = 100_000;
const MAX_TASK_MS = 400;
const MAX_DRAWN_MS = 1_500;
const MAX_BUILD_MS = 5_000;
const MOVES = 60;
/** A screen draws 60 times in a second. */
const MAX_DRAG_MS = (MOVES * 1_000) / 60;

await printBuild();
await setup();
const found = await findChromium();
if (found.path === null) throw new Error(found.reason);
{
  await using stage = await openStage(found.path);
  stage.page.setDefaultTimeout(60_000);
  const { cluster, tenant } = stage;
  const client = cluster.as(tenant.creator).in(tenant);
  for (const part of [largeGraph, largeMap, largeAnswer, manyLines, oneLine, largePage]) await part(stage, client);
}
process.exit();

type Client = ReturnType<ReturnType<Stage['cluster']['as']>['in']>;

/** A run of many nodes: opened while it waits, and watched while it goes on. */
async function largeGraph({ cluster, tenant, page, go, path }: Stage, client: Client): Promise<void> {
  const ids = Array.from({ length: NODES }, (_, n) => `n${n}`);
  const asks = { type: 'dataCollection', fields: [{ key: 'answer', label: 'Answer' }] };
  const { id } = await aWorkflow(cluster, {
    tenant,
    title: 'Large',
    ...graph({ start: { type: 'start' }, asks, ...Object.fromEntries(ids.map((one) => [one, noop])) }, [
      ...['start>asks', 'asks>n0'],
      ...ids.slice(1).map((one, n) => `${ids[n]}:yes>${one}`),
    ]),
  });
  const { instanceID } = (await client.post(`T/workflows/${id}/execute`, {})).body;
  let collectionRequestID = '';
  await eventually(async () => {
    const { body } = await client.get('T/workflows/data-collection?status=PENDING');
    ({ collectionRequestID } = body.requests.find((one: { instanceID: string }) => one.instanceID === instanceID));
  });
  await go(path('/runs'));
  await page.getByRole('link', { name: 'Large' }).first().waitFor();
  print(
    `a waiting run of ${NODES} nodes, opened`,
    await workOf(page, async () => {
      await go(path(`/runs/${instanceID}?view=graph`));
      await page
        .locator('.react-flow__node')
        .nth(NODES + 1)
        .waitFor();
      await page.getByRole('status').getByText('Waiting').waitFor();
    }),
    MAX_DRAWN_MS,
  );
  print(
    `its ${NODES} nodes run while it is watched`,
    await workOf(page, async () => {
      await client.post(`T/workflows/data-collection/${collectionRequestID}/submit`, {
        submittedData: { answer: 'yes' },
      });
      await page.getByRole('status').getByText('Completed').waitFor();
      await page.locator(`[aria-label="n${NODES - 1}, Condition, Success"]`).waitFor();
    }),
  );
  await largeEditor(page, () => go(path(`/workflows/${id}`)));
}

/** The same graph in the editor, and one of its steps dragged. */
async function largeEditor(page: Stage['page'], open: () => Promise<void>): Promise<void> {
  const opened = await workOf(page, async () => {
    await open();
    await page.locator('.react-flow__node').first().waitFor();
    await page.getByText('Steps as a list').waitFor();
  });
  print(`the editor of ${NODES} nodes, opened`, opened, MAX_DRAWN_MS);
  const chosen = await workOf(page, async () => {
    await page.locator('[data-id="n1"]').press('Enter');
    await page.getByRole('complementary', { name: 'Step' }).getByRole('textbox', { name: 'Title' }).waitFor();
  });
  print('one of its steps chosen', chosen, MAX_DRAG_MS);
  const box = await page.locator('[data-id="n1"]').boundingBox();
  if (!box) throw new Error('the step is not shown');
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const dragged = await workOf(page, async () => {
    await page.mouse.move(x, y);
    await page.mouse.down();
    for (let move = 1; move <= MOVES; move += 1) await page.mouse.move(x + move, y + move / 2);
    await page.mouse.up();
    await page.getByText('Not saved').waitFor();
  });
  print(`one of them dragged, ${MOVES} moves`, dragged, MAX_DRAG_MS);
}

/** A map of many items: opened while it waits, watched until it ends, and opened again. */
async function largeMap({ cluster, tenant, page, go, path }: Stage): Promise<void> {
  const { instanceID, goOn } = await aMapRun({ cluster, tenant }, { items: ITEMS, failed: 412 });
  const items = page.getByRole('region', { name: 'Items of the map' });
  await go(path('/runs'));
  await page.getByRole('link', { name: 'Many items' }).first().waitFor();
  print(
    `a waiting run of a map of ${ITEMS} items, opened`,
    await workOf(page, async () => {
      await go(path(`/runs/${instanceID}?view=graph&step=map`));
      await page.locator('[aria-label="map, Map, Waiting, 1 of 100,000 failed"]').waitFor();
    }),
    MAX_DRAWN_MS,
  );
  print(
    'its map ends while it is watched, and its output of 2.5 MB comes',
    await workOf(page, async () => {
      await goOn();
      await page.getByRole('status').getByText('Completed').waitFor();
      await items.getByText('100,000 of 100,000 items are done').waitFor();
      await page.getByRole('button', { name: 'Close the step' }).click();
      await page.getByRole('button', { name: 'Input and output' }).click();
      await page.getByLabel('Output of the run').getByText('selectedBranch').waitFor();
    }),
  );
  // Loaded anew, a page has kept nothing of the run.
  await page.goto(cluster.baseURL + path('/runs'));
  await page.getByRole('link', { name: 'Many items' }).first().waitFor();
  print(
    'the ended run, opened',
    await workOf(page, async () => {
      await go(path(`/runs/${instanceID}?view=graph`));
      await page.getByLabel('Output of the run').getByText('selectedBranch').waitFor();
      await page.locator('[aria-label="map, Map, Success, 1 of 100,000 failed"]').click();
      await items.getByRole('link', { name: 'Item 412 failed' }).waitFor();
    }),
    MAX_DRAWN_MS,
  );
}

/** An answer of 10,000 rows of 30 columns: shown, scrolled and sorted. */
async function largeAnswer({ page, go, path }: Stage, client: Client): Promise<void> {
  const columns = Array.from({ length: 29 }, (_, n) => `md5((n + ${n})::text) as c${n}`);
  const made = await client.post('T/queries', {
    ...{ dataQueryTitle: 'Long', datasourceType: 'tenantdb' },
    dataQueryOptions: { query: `select n, ${columns.join(', ')} from generate_series(1, 10000) n` },
  });
  await go(path(`/queries/${made.body.dataQuery.dataQueryID}`));
  const run = page.getByRole('tabpanel', { name: 'Run' }).getByRole('button', { name: 'Run' });
  const table = page.getByRole('table', { name: 'Rows of the answer' });
  const rows = page.getByRole('region', { name: 'Rows of the answer' });
  const first = (n: string) => table.getByRole('row').nth(1).getByRole('cell', { name: n, exact: true }).waitFor();
  await run.waitFor();
  print(
    'a query answers 10,000 rows of 30 columns',
    await workOf(page, async () => {
      await run.click();
      await page.getByText('10,000 rows').waitFor();
      await first('1');
    }),
  );
  print(
    'from the first of them to the last',
    await workOf(page, async () => {
      await rows.press('End');
      await table.getByRole('cell', { name: '10000', exact: true }).waitFor();
    }),
  );
  print(
    'sorted three times',
    await workOf(page, async () => {
      const head = table.getByRole('columnheader', { name: 'n', exact: true }).getByRole('button');
      await head.press('Enter');
      await head.press('Enter');
      await rows.press('Home');
      await first('10000');
      await table.getByRole('columnheader', { name: 'c7', exact: true }).getByRole('button').click();
      await table.locator('[aria-sort="ascending"]', { hasText: 'c7' }).waitFor();
    }),
  );
}

function manyLines(stage: Stage): Promise<void> {
  return largeCode(stage, 'in many lines', "select '<img src=x>', 12345 as number;\n".repeat(25_000));
}

function oneLine(stage: Stage): Promise<void> {
  return largeCode(stage, 'in one line', '<img src=x> 12345, '.repeat(50_000));
}

async function largeCode({ tenant, page, go, path }: Stage, how: string, code: string): Promise<void> {
  await go(path('/queries'));
  await page.evaluate(`sessionStorage.setItem('gantry.sql.${tenant.id}', ${JSON.stringify(code)})`);
  const field = page.getByRole('textbox', { name: 'SQL' });
  print(
    `a field with a megabyte of code, ${how}, opened`,
    await workOf(page, async () => {
      await go(path('/database?tab=sql'));
      await field.getByText('12345').first().waitFor();
    }),
  );
  print(
    `typing into it, ${how}`,
    await workOf(page, async () => {
      await field.press('Control+End');
      await page.keyboard.type(' typed');
      await field.getByText('typed').waitFor();
    }),
  );
}

/** A page of many widgets in its builder: opened, and changed. */
async function largePage({ cluster, tenant, page, go, path }: Stage, client: Client): Promise<void> {
  const keys = await Promise.all(
    Array.from({ length: NODES }, async (_, at) => {
      const config = { properties: { label: `Figure ${at}`, value: at } };
      const { id } = await aWidget(cluster, { tenant, type: 'stat', config });
      return `widget_${id}_w${at}`;
    }),
  );
  const rows = Array.from({ length: NODES / 4 }, (_, at) => ({
    ...{ id: `row${at}`, type: 'row' },
    children: keys.slice(at * 4, at * 4 + 4).map((widgetKey) => ({ id: widgetKey, type: 'widget', widgetKey })),
  }));
  const config = { widgets: keys, layout: { id: 'root', type: 'column', children: rows } };
  const { body } = await client.post('T/app-pages', { appPageTitle: 'Large', appPageConfig: config });
  await go(path('/pages'));
  print(
    `a page of ${NODES} widgets, opened in the builder`,
    await workOf(page, async () => {
      await go(path(`/pages/${body.appPage.id}/edit`));
      await page.getByText(`Figure ${NODES - 1}`).waitFor();
    }),
    MAX_DRAWN_MS,
  );
  print(
    'one of them moved by a key',
    await workOf(page, async () => {
      await page.locator(`[data-row="${keys[0]}"]`).click();
      await page.keyboard.press('Alt+ArrowDown');
      await page.getByText('is moved down').waitFor();
    }),
  );
}

async function printBuild(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'gantry-console-'));
  const script = join(import.meta.dirname, '../tools/build-console.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script, join(dir, 'built')]);
  await rm(dir, { recursive: true });
  const [, seconds] = /\(([\d.]+) s of processor time\)/.exec(stdout) ?? [];
  write({ figure: 'the build', value: Number(seconds) * 1_000, floor: MAX_BUILD_MS });
}

/** `maxSum`: where no limit is set for all tasks together, only the longest is printed. */
function print(figure: string, { longest, sum }: Work, maxSum?: number): void {
  write({ figure: `${figure}: longest task`, value: longest, floor: MAX_TASK_MS });
  if (maxSum !== undefined) write({ figure: `${figure}: all tasks`, value: sum, floor: maxSum });
}

function write(figure: PrintedFigure): void {
  process.stdout.write(`${JSON.stringify(figure)}\n`);
}
