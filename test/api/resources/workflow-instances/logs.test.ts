import { afterAll, beforeAll, expect, test } from 'vitest';
import { findLogLines, LOG_LINES } from '#api/resources/workflow-instances/logs/log-lines.ts';
import { READ, readRunEvents } from '#api/streams/watched-run-rows.ts';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { explaining } from '../../../support/explaining.ts';
import { aMember, aTenant, aWorkflow, chain, type TestTenant } from '../../../support/factories.ts';
import { code, graph, noop } from '../../../support/graphs.ts';

let cluster: Cluster;
let tenant: TestTenant;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);

interface Line {
  seq: number;
  at: string;
  source: string;
  level: string;
  nodeID: string | null;
  attempt: number;
  message: string;
  data?: { status?: string; durationMs?: number; storedBytes?: number };
}

async function executed(shape: { nodes: object[]; edges: object[] }): Promise<string> {
  const { id } = await aWorkflow(cluster, { tenant, ...shape });
  const { body } = await api().post(`T/workflows/${id}/execute?wait=30`);
  expect(body.status).toMatch(/COMPLETED|FAILED/);
  return body.instanceID;
}

async function linesOf(instanceID: string, query = ''): Promise<Line[]> {
  return (await api().get(`T/workflows/instances/${instanceID}/logs?limit=1000${query}`)).body.lines;
}

const ownOf = (lines: readonly Line[]) => lines.filter(({ source }) => source === 'node');
const messagesOf = (lines: readonly Line[]) => lines.map(({ message }) => message);

const talking = chain({
  code: code(`
    console.log('Hello', 1, { a: [true, null] });
    console.warn(new Error('careful').message);
    console.error('%', 'Zoë\\u0000', undefined, Symbol('s'));
    console.debug(() => 1);
    const around = { n: 2n };
    around.self = around;
    console.info(1n, { n: [2n] }, around);
    return 1;`),
  note: { type: 'log', level: 'warn', message: 'Order {{ctx.scriptResult}}', data: { of: '{{ctx.scriptResult}}' } },
});

test('a log has what code prints, what log nodes write, and what the engine did, in order', async () => {
  const instanceID = await executed(talking);

  const lines = await linesOf(instanceID);

  expect(ownOf(lines)).toMatchObject([
    { nodeID: 'code', level: 'info', message: 'Hello 1 {"a":[true,null]}', attempt: 1 },
    { nodeID: 'code', level: 'warn', message: 'careful' },
    { nodeID: 'code', level: 'error', message: expect.stringContaining('Zoë') },
    { nodeID: 'code', level: 'debug', message: '() => 1' },
    { nodeID: 'code', level: 'info', message: '1n {"n":["2n"]} [a value that cannot be shown]' },
    { nodeID: 'note', level: 'warn', message: 'Order 1', data: { of: 1 } },
  ]);
  const ofCode = lines.filter(({ nodeID }) => nodeID === 'code');
  expect(messagesOf(ofCode).at(0)).toBe('Node started');
  expect(ofCode.at(-1)).toMatchObject({
    source: 'engine',
    level: 'info',
    message: 'Node succeeded',
    data: { status: 'SUCCESS', exit: 'success', durationMs: expect.any(Number), storedBytes: expect.any(Number) },
  });
  expect(lines.at(-1)).toMatchObject({ nodeID: null, source: 'engine', message: 'Run completed' });
  const { seq } = (await api().get(`T/workflows/instances/${instanceID}`)).body;
  const numbers = lines.filter(({ source }) => source === 'engine').map((line) => line.seq);
  expect(numbers).toEqual(Array.from({ length: seq }, (_, at) => at + 1));
});

test('it is filtered by level, node and text, and read page by page', async () => {
  const instanceID = await executed(talking);
  const all = await linesOf(instanceID);

  const pages: Line[] = [];
  let cursor = '';
  do {
    const { body } = await api().get(`T/workflows/instances/${instanceID}/logs?limit=2${cursor}`);
    expect(body.lines.length).toBeLessThanOrEqual(2);
    pages.push(...body.lines);
    cursor = body.nextCursor && `&cursor=${body.nextCursor}`;
  } while (cursor);
  expect(pages).toEqual(all);
  expect((await linesOf(instanceID, '&level=warn')).map(({ level }) => level)).toEqual(['warn', 'error', 'warn']);
  expect(await linesOf(instanceID, '&nodeID=code')).toEqual(all.filter(({ nodeID }) => nodeID === 'code'));
  expect(messagesOf(await linesOf(instanceID, '&q=ORDER'))).toEqual(['Order 1']);
  expect(await linesOf(instanceID, `&q=${encodeURIComponent('%')}`)).toHaveLength(1);
  for (const query of ['level=loud', 'cursor=1', 'cursor=-1.2', 'limit=0', 'q='])
    expect((await api().get(`T/workflows/instances/${instanceID}/logs?${query}`)).status).toBe(400);
});

test('watchers get the lines before the outcome of their node, live and later', async () => {
  const wait = { type: 'delay', delaySeconds: 3 };
  const { nodes, edges } = chain({ wait, code: code(`console.log('one'); console.log('two'); return 1;`) });
  const { id } = await aWorkflow(cluster, { tenant, nodes, edges });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;
  const authorization = `Bearer ${await cluster.tokenFor(tenant.creator)}`;
  const read = async () => {
    const url = `${cluster.baseURL}/api/v1/tenants/${tenant.id}/workflows/instances/${instanceID}/stream`;
    const text = await (await fetch(url, { headers: { authorization } })).text();
    const field = (block: string, name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? null;
    return text
      .split('\n\n')
      .filter((block) => block.startsWith('event'))
      .map((block) => ({
        event: field(block, 'event'),
        id: field(block, 'id'),
        data: JSON.parse(field(block, 'data') ?? ''),
      }));
  };

  const live = await read();
  const later = await read();

  expect(later).toEqual(live);
  const at = live.findIndex(({ data }) => data.nodeID === 'code' && data.status === 'SUCCESS');
  expect(live.slice(at - 2, at + 1)).toMatchObject([
    { event: 'workflow_log', id: null, data: { seq: live[at]?.data.seq, message: 'one', level: 'info', attempt: 1 } },
    { event: 'workflow_log', id: null, data: { message: 'two' } },
    { event: 'workflow_node_update', id: String(live[at]?.data.seq) },
  ]);
});

test('attempts that fail, also by their time limit, keep what they printed', async () => {
  const failing = { retryLimit: 1, retryDelaySeconds: 0 };
  const thrown = code(`console.log('before'); throw new RangeError('no');`, {
    ...failing,
    errorHandling: 'retry_then_continue',
  });
  const endless = code(`console.log('begun'); for (;;);`, { timeoutSeconds: 1 });
  const instanceID = await executed(chain({ thrown, endless }));

  const lines = await linesOf(instanceID);

  expect(ownOf(lines).map(({ nodeID, attempt, message }) => ({ nodeID, attempt, message }))).toEqual([
    { nodeID: 'thrown', attempt: 1, message: 'before' },
    { nodeID: 'thrown', attempt: 2, message: 'before' },
    { nodeID: 'endless', attempt: 1, message: 'begun' },
  ]);
  expect(messagesOf(lines)).toContain('Node failed: RangeError: no (line 1)');
  expect(lines.at(-1)).toMatchObject({ level: 'error', message: expect.stringMatching(/^Run failed: .* 1000 ms/) });
});

test('what an attempt prints beyond its limits is counted and said, and costs the code nothing else', async () => {
  const many = code(`for (let n = 0; n < 1500; n += 1) console.log('line ' + n); return 1;`);
  const long = code(
    `console.log('x'.repeat(20_000)); for (let n = 0; n < 40; n += 1) console.log('y'.repeat(7_000)); return 1;`,
  );
  const instanceID = await executed(chain({ many, long }));

  const ofMany = await linesOf(instanceID, '&nodeID=many&level=info');
  const ofLong = ownOf(await linesOf(instanceID, '&nodeID=long'));

  expect(messagesOf(ownOf(ofMany)).slice(0, 3)).toEqual(['line 0', 'line 1', 'line 2']);
  expect((await api().get(`T/workflows/instances/${instanceID}/logs?nodeID=many&level=warn`)).body.lines).toMatchObject(
    [{ level: 'warn', message: expect.stringMatching(/^500 lines \(4500 bytes\) of this attempt were not kept/) }],
  );
  expect(ofLong[0]?.message).toHaveLength(8_001);
  expect(ofLong.at(-1)?.message).toMatch(/^\d+ lines \(\d+ bytes\) of this attempt were not kept/);
  expect(messagesOf(ofLong).join('').length).toBeLessThan(140_000);
});

test('code cannot break its log: what it replaces is not used', async () => {
  const hostile = code(`
    const log = console.log;
    Object.defineProperty(Array.prototype, '0', { set() { for (;;); }, get() { for (;;); } });
    String.prototype.toJSON = () => 'forged';
    Object.prototype.toJSON = () => 'forged';
    JSON.stringify = () => '"},{"';
    Date.now = () => 0;
    log('"},{"level":"error');
    log({ get a() { throw new Error('no'); } });
    console = undefined;
    return 1;`);
  const instanceID = await executed(chain({ hostile }));

  expect(ownOf(await linesOf(instanceID))).toMatchObject([
    { level: 'info', message: '"},{"level":"error', at: expect.stringMatching(/^20[2-9]/) },
    { level: 'info' },
  ]);
});

test('a run whose nodes print nothing has no row; the rows of others end with their run', async () => {
  const silent = await executed(chain({ one: noop, two: code('return 1;') }));
  const loud = await executed(talking);
  const rows = async (id: string) => {
    const { rowCount } = await cluster.pool.query('select from run_log where instance_id = $1', [id]);
    return rowCount;
  };

  expect(await rows(silent)).toBe(0);
  expect(await rows(loud)).toBe(2);
});

test('only a caller who may read the run reads its log', async () => {
  const instanceID = await executed(talking);
  const member = await aMember(cluster, { tenant, can: ['workflow.update'] });
  const elsewhere = await aTenant(cluster);
  const path = `T/workflows/instances/${instanceID}/logs`;

  expect((await cluster.as(member).in(tenant).get(path)).status).toBe(403);
  expect((await cluster.as(elsewhere.creator).in(elsewhere).get(path)).status).toBe(404);
});

test('the statements read the rows of one run, beside an empty table and a filled one', async () => {
  const rowsRead = new Map<string, number>();
  const pool = explaining(cluster.pool, rowsRead);
  const { nodes, edges } = graph({ start: { type: 'start' }, code: code(`console.log('a'); return 1;`) }, [
    'start>code',
  ]);
  const instanceID = await executed({ nodes, edges });
  await findLogLines(pool, instanceID, { level: 'debug', limit: 10 });
  await readRunEvents(pool, instanceID, { after: 0 });
  await cluster.pool.query(
    `insert into run_log select gen_random_uuid(), n, 'a', '[{"level":"info","at":"2026-01-01T00:00:00Z","message":"m"}]', 0, 0
     from generate_series(1, 20000) n`,
  );
  await cluster.pool.query('analyze run_log');

  expect(await findLogLines(pool, instanceID, { level: 'debug', limit: 10 })).toHaveLength(5);
  await readRunEvents(pool, instanceID, { after: 0 });
  expect(await findLogLines(pool, newID(), { level: 'debug', limit: 10 })).toEqual([]);

  expect(rowsRead.get(LOG_LINES)).toBeLessThan(100);
  expect(rowsRead.get(READ)).toBeLessThan(100);
});

test('a page of a long run reads little more than its own rows, at any place', async () => {
  const rowsRead = new Map<string, number>();
  const instanceID = newID();
  // A loop over two nodes, whose outcomes start each other.
  await cluster.pool.query(
    `insert into run_event (instance_id, seq, node_id, iteration, frame, attempt, status, payload, started)
     select $1, 2 * n, case n % 2 when 0 then 'a' else 'b' end, n / 2, own, 1, 'SUCCESS', '{"output": {}}',
       case n % 2 when 0 then '["b"]' else jsonb_build_array(jsonb_build_object('nodeID', 'a', 'frame', next)) end
     from generate_series(1, 5000) n cross join lateral (
       select jsonb_build_array(jsonb_build_object('nodeID', 'loop', 'iteration', n / 2)) as own,
              jsonb_build_array(jsonb_build_object('nodeID', 'loop', 'iteration', n / 2 + 1)) as next) frame`,
    [instanceID],
  );
  const pool = explaining(cluster.pool, rowsRead);

  const page = await findLogLines(pool, instanceID, {
    level: 'debug',
    limit: 50,
    cursor: { seq: 5_000, n: 1_000_000_001 },
  });

  expect(page.map(({ seq }) => seq)).toEqual(Array.from({ length: 51 }, (_, at) => 5_001 + at));
  expect(page.filter(({ data }) => JSON.stringify(data).includes('durationMs'))).toHaveLength(26);
  // 26 outcomes, each with its log, its size, and the row before it, which has started its node.
  expect(rowsRead.get(LOG_LINES)).toBeLessThan(200);
});
