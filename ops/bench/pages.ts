import { post, signIn, startApi } from './api-process.ts';
import type { BenchEnvironment } from './environment.ts';
import { figuresOf } from './on-test-servers.ts';
import type { Row } from './row.ts';
import { spending } from './spending.ts';

const PAGES = 10;
const QUERIES = 8;
const WIDGETS = 20;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 8);
/** As many queries of a page as the API runs at once. */
const AT_ONCE = 4;

/**
 * App pages. In a browser: processor time of the page's main thread, with the mark as the floor; the backplane makes no difference, and it
 * needs the development packages and a Chromium. Beside queries: what pages that are opened at once cost the API, and its floor, what
 * their queries cost it alone.
 */
export const pages: readonly Row[] = [
  async (environment) => (environment.kind === 'redis' ? [] : figuresOf('pages-console.ts', [], environment)),
  besideQueries,
];

async function besideQueries(environment: BenchEnvironment) {
  await environment.startWorker();
  await using api = await startApi(environment);
  const headers = await signIn(environment, api.url);
  const tenant = `${api.url}/api/v1/tenants/${environment.tenantID}`;
  const queryIDs: string[] = [];
  for (let at = 0; at < QUERIES; at += 1) {
    const dataQueryOptions = { query: `select n, md5(n::text) as name from generate_series(1, 20) n where n > ${at}` };
    const made = await post<{ dataQuery: { dataQueryID: string } }>(`${tenant}/queries`, headers, {
      ...{ dataQueryTitle: `Query ${at}`, datasourceType: 'tenantdb', dataQueryOptions },
    });
    queryIDs.push(made.dataQuery.dataQueryID);
  }
  const page = `${tenant}/app-pages/${await createPage(tenant, headers, queryIDs)}`;
  const queries = queryIDs.map((_, at) => ({ queryAlias: `q${at}` }));
  const openPage = async () => {
    await get(`${page}/content`, headers);
    await Promise.all([read(`${page}/data`, headers, { queries }), get(`${page}/questions`, headers)]);
  };
  const runQueries = async () => {
    const left = [...queryIDs];
    const work = async () => {
      for (let id = left.pop(); id; id = left.pop()) await read(`${tenant}/queries/${id}/run`, headers, {});
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  };
  const spent = { pages: 0, queries: 0 };
  // Alternating, so that a slow minute of the machine slows both. The first round warms up.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, act] of [['pages', openPage] as const, ['queries', runQueries] as const]) {
      const since = await spending({ api: api.pid });
      await Promise.all(Array.from({ length: PAGES }, act));
      const { api: ms } = await since(PAGES);
      if (round > 0) spent[name] += (ms ?? 0) / ROUNDS;
    }
  }
  const round = (ms: number) => Number(ms.toFixed(1));
  return [
    {
      figure: `${PAGES} pages of ${QUERIES} queries, opened at once, beside their queries alone`,
      value: round(spent.pages),
      unit: 'ms of processor time of the API, a page',
      floor: round(spent.queries),
      ratio: Number((spent.pages / spent.queries).toFixed(2)),
      settings: { ...(await environment.settings()), widgets: WIDGETS, rounds: ROUNDS },
    },
  ];
}

async function createPage(tenant: string, headers: Record<string, string>, queryIDs: readonly string[]) {
  const keys: string[] = [];
  for (let at = 0; at < WIDGETS; at += 1) {
    const widgetConfig = { properties: { items: `{{queries.q${at % QUERIES}.data}}` } };
    const made = await post<{ widget: { id: string } }>(`${tenant}/widgets`, headers, {
      ...{ widgetTitle: `Widget ${at}`, widgetType: 'table', widgetConfig },
    });
    keys.push(`widget_${made.widget.id}_w${at}`);
  }
  const dataSources = queryIDs.map((queryID, at) => ({ alias: `q${at}`, type: 'query', queryID }));
  const made = await post<{ appPage: { id: string } }>(`${tenant}/app-pages`, headers, {
    ...{ appPageTitle: 'Measured', appPageConfig: { widgets: keys, dataSources } },
  });
  return made.appPage.id;
}

async function get(url: string, headers: Record<string, string>): Promise<void> {
  await ended(await fetch(url, { headers }));
}

async function read(url: string, headers: Record<string, string>, body: object): Promise<void> {
  const sent = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' } };
  await ended(await fetch(url, { ...sent, body: JSON.stringify(body) }));
}

async function ended(response: Response): Promise<void> {
  const text = await response.text();
  if (!response.ok || text.includes('"error":{')) throw new Error(`${response.status}: ${text.slice(0, 500)}`);
}
