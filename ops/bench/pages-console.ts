/** The process of row PAGES: the console's test stage, on the servers that the row has started. Prints one JSON line a figure. */
import { openStage, type Stage } from '#test/console/browser/stage.ts';
import { workOf } from '#test/console/browser/trace.ts';
import { findChromium } from '#test/servers/chromium.ts';
import setup from '#test/setup/global.ts';
import { aWidget } from '#test/support/factories.ts';
import type { PrintedFigure } from './on-test-servers.ts';

const QUERIES = 8;
const WIDGETS = 20;
const ROWS = 100_000;
const STEPS = 30;
const MAX_PAINT_MS = 1_000;
const MAX_TASK_MS = 50;

await setup();
const found = await findChromium();
if (found.path === null) throw new Error(found.reason);
{
  await using stage = await openStage(found.path);
  stage.page.setDefaultTimeout(60_000);
  await manyWidgets(stage);
  await manyRows(stage);
}
process.exit();

/** A page of 20 widgets and 8 queries: loaded with the console, and opened within it. */
async function manyWidgets(stage: Stage): Promise<void> {
  const { cluster, tenant, page, go, path } = stage;
  const dataSources: object[] = [];
  for (let at = 0; at < QUERIES; at += 1) {
    const query = `select n as id, 'row ${at} ' || n as name, n * 3 as total from generate_series(1, 20) n`;
    dataSources.push({ alias: `q${at}`, type: 'query', queryID: await createQuery(stage, { query }) });
  }
  const keys: string[] = [];
  for (let at = 0; at < WIDGETS; at += 1) {
    const data = `queries.q${at % QUERIES}.data`;
    const isTable = at < QUERIES;
    const properties = isTable
      ? { items: `{{${data}}}` }
      : { label: `Sum ${at}`, value: `{{${data} | sum: "total" | plus: ${at}}}` };
    const { id } = await aWidget(cluster, {
      tenant,
      type: isTable ? 'table' : 'stat',
      config: { properties } as never,
    });
    keys.push(`widget_${id}_w${at}`);
  }
  const appPageID = await createPage(stage, keys, dataSources);
  const isDrawn = async () => {
    for (let at = 0; at < QUERIES; at += 1) await page.getByText(`row ${at} 20`, { exact: true }).waitFor();
    await page.getByText(String(630 + WIDGETS - 1), { exact: true }).waitFor();
  };
  const sent = { requests: 0, sockets: 0 };
  page.on('request', (request) => {
    if (request.url().endsWith(`/app-pages/${appPageID}/data`)) sent.requests += 1;
  });
  page.on('websocket', () => {
    sent.sockets += 1;
  });
  const loaded = await workOf(page, async () => {
    await page.goto(cluster.baseURL + path(`/pages/${appPageID}`));
    await isDrawn();
  });
  await page.getByText('Live').waitFor();
  const what = `a page of ${WIDGETS} widgets and ${QUERIES} queries`;
  print(`${what}, loaded with the console: all tasks until all is drawn`, loaded.sum, MAX_PAINT_MS);
  if (sent.requests !== 1 || sent.sockets !== 1)
    throw new Error(`The page has sent ${sent.requests} requests for data and has opened ${sent.sockets} sockets`);
  await go(path('/pages'));
  await page.getByRole('link', { name: 'Measured' }).first().waitFor();
  const opened = await workOf(page, async () => {
    await go(path(`/pages/${appPageID}`));
    await isDrawn();
  });
  print(`${what}, opened within the console: all tasks until all is drawn`, opened.sum, MAX_PAINT_MS);
}

/** A table of very many rows, of which the query reads a page at a time. */
async function manyRows(stage: Stage): Promise<void> {
  const { cluster, tenant, page, go, path } = stage;
  const queryID = await createQuery(stage, {
    query: `select n as id, 'row ' || n as name, md5(n::text) as code, n * 3 as total, n % 2 = 0 as even
            from generate_series(1, ${ROWS}) n limit {{inputs.size}}::int offset {{inputs.offset}}::int`,
    inputDefinitions: [
      { key: 'size', default: 20 },
      { key: 'offset', default: 0 },
    ],
  });
  const inputValues = { size: '{{widgets.rows.pageSize}}', offset: '{{widgets.rows.offset}}' };
  const properties = { items: '{{queries.rows.data}}', total: ROWS, pageSize: 20 };
  const { id } = await aWidget(cluster, { tenant, type: 'table', config: { properties } as never });
  const source = { alias: 'rows', type: 'query', triggerMode: 'reactive', queryID, inputValues };
  await go(path(`/pages/${await createPage(stage, [`widget_${id}_rows`], [source])}`));
  await page.getByText('row 20', { exact: true }).waitFor();
  const showNext = async (to: number) => {
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText(`row ${to * 20}`, { exact: true }).waitFor();
  };
  await showNext(2);
  const { longest } = await workOf(page, async () => {
    for (let to = 3; to < 3 + STEPS; to += 1) await showNext(to);
  });
  print(`${STEPS} pages of a table of ${ROWS} rows: the longest task`, longest, MAX_TASK_MS);
}

async function createQuery({ cluster, tenant }: Stage, dataQueryOptions: object): Promise<string> {
  const query = { dataQueryTitle: 'Measured', datasourceType: 'tenantdb', dataQueryOptions };
  return (await cluster.as(tenant.creator).in(tenant).post('T/queries', query)).body.dataQuery.dataQueryID;
}

async function createPage({ cluster, tenant }: Stage, widgets: readonly string[], dataSources: readonly object[]) {
  const rows = Array.from({ length: Math.ceil(widgets.length / 4) }, (_, at) => ({
    ...{ id: `row${at}`, type: 'row' },
    children: widgets.slice(at * 4, at * 4 + 4).map((widgetKey) => ({ id: widgetKey, type: 'widget', widgetKey })),
  }));
  const layout = { id: 'root', type: 'column', children: rows };
  const { body } = await cluster
    .as(tenant.creator)
    .in(tenant)
    .post('T/app-pages', {
      appPageTitle: 'Measured',
      appPageConfig: { layoutVersion: 2, layout, widgets, dataSources },
    });
  return body.appPage.id as string;
}

function print(figure: string, value: number, floor: number): void {
  const printed: PrintedFigure = { figure, value, floor };
  process.stdout.write(`${JSON.stringify(printed)}\n`);
}
