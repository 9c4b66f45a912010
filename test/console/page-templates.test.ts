/** Templates of pages: each is installed, opened by a viewer, and its main button used to the end. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCall } from '#ops/samples/call.ts';
import { installSample } from '#ops/samples/install.ts';
import { readSample, sampleNames } from '#ops/samples/read.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aMember, aTenant, type TestTenant } from '../support/factories.ts';
import { eventually } from '../support/settle.ts';
import { type OpenedPage, openPageState } from './opened-page.ts';

let cluster: Cluster;
let tenant: TestTenant;
/** May read pages, and nothing else. */
let viewer: { email: string };
beforeAll(async () => {
  cluster = await startCluster();
  tenant = await aTenant(cluster);
  viewer = await aMember(cluster, { tenant, can: ['appPage.read'] });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);

async function open(name: string): Promise<OpenedPage> {
  const call = createCall(cluster.baseURL, await cluster.tokenFor(tenant.creator));
  const sample = await readSample(name);
  const { ids } = await installSample(call, sample, { tenantID: tenant.id });
  const page = await openPageState(cluster.as(viewer).in(tenant), ids.get(sample.page ?? '') ?? '', {
    email: viewer.email,
  });
  // Nothing that it shows lacks a query, a column or a name.
  const { widgets } = page.state.content.get().config as { widgets: string[] };
  for (const key of widgets) await page.shown(/^widget_[\da-f-]+_(.+)$/.exec(key)?.[1] ?? '');
  return page;
}

async function rowsOf(page: OpenedPage, name: string): Promise<Record<string, unknown>[]> {
  return (await page.shown(name)).items as Record<string, unknown>[];
}

async function choose(page: OpenedPage, name: string, column: string, value: unknown) {
  const row = (await rowsOf(page, name)).find((one) => one[column] === value);
  page.enter(name, { selectedRow: row ?? expect.fail(`no row has ${value}`), selectedRows: [row] });
  return row;
}

/** Presses a button or sends a form, and waits until the run that it starts has ended or asks. */
async function start(page: OpenedPage, { name, event, values }: { name: string; event: string; values?: object }) {
  expect(await page.fire(name, event, { values }), page.told().join()).toBe(true);
}

async function ended(page: OpenedPage, alias: string): Promise<Record<string, unknown>> {
  const read = () => page.state.bindings.once(`{{workflows.${alias}}}`, { event: {} });
  let state: Record<string, unknown> = {};
  await eventually(async () => {
    state = (await read()).value as Record<string, unknown>;
    expect(state.isRunning).toBe(false);
    expect(['COMPLETED', 'FAILED']).toContain(state.status);
  }, 30_000);
  return state;
}

/** Answers the one question that waits, as a colleague. */
async function answer(submittedData: object): Promise<string> {
  let title = '';
  await eventually(async () => {
    const { requests } = (await api().get('T/workflows/data-collection?status=PENDING')).body;
    const [one = expect.fail('nothing is asked')] = requests;
    title = one.collectionConfig.title;
    const sent = await api().post(`T/workflows/data-collection/${one.collectionRequestID}/submit`, { submittedData });
    expect(sent).toMatchObject({ status: 200 });
  }, 30_000);
  return title;
}

test('each sample that opens a page has a test here', async () => {
  const samples = await Promise.all((await sampleNames()).map(readSample));
  expect(samples.filter(({ page }) => page).map(({ name }) => name)).toEqual([
    ...['customer-360', 'feature-flags', 'import-monitor', 'order-desk', 'refund-tool', 'support-inbox'],
  ]);
});

test('order desk: an order is approved, a large one by two, and a decided one is not decided again', async () => {
  using page = await open('order-desk');
  expect(await page.shown('waiting')).toMatchObject({ value: '5' });
  await choose(page, 'orders', 'customer', 'Ada Lovelace');
  page.enter('note', { value: 'Regular customer' });
  await start(page, { name: 'approve', event: 'onClick' });
  expect(await ended(page, 'approve')).toMatchObject({ status: 'COMPLETED', output: { state: 'approved' } });
  await eventually(async () => expect(await page.shown('waiting')).toMatchObject({ value: '4' }));
  const ada = await choose(page, 'orders', 'customer', 'Ada Lovelace');
  expect(ada).toMatchObject({ state: 'approved', decided_by: viewer.email, note: 'Regular customer' });

  await start(page, { name: 'reject', event: 'onClick' });
  expect(await ended(page, 'reject')).toMatchObject({ status: 'FAILED' });

  await choose(page, 'orders', 'customer', 'Katherine Johnson');
  await start(page, { name: 'approve', event: 'onClick' });
  expect(await answer({ decision: 'approve' })).toBe('Also approve order 3 of Katherine Johnson over 4800.00?');
  await eventually(async () => expect(await page.shown('waiting')).toMatchObject({ value: '3' }), 30_000);

  await start(page, { name: 'add', event: 'onSubmit', values: { customer: "O'Brien", item: 'Pens', total: 5 } });
  page.enter('orders', { search: "o'b", offset: 0 });
  await eventually(async () =>
    expect(await rowsOf(page, 'orders')).toMatchObject([{ customer: "O'Brien", total: '5.00' }]),
  );
});

test('support inbox: a request is taken and answered, an urgent answer is read first', async () => {
  using page = await open('support-inbox');
  expect((await rowsOf(page, 'requests'))[0]).toMatchObject({ priority: 'urgent' });
  await choose(page, 'requests', 'subject', 'Charged twice');
  await start(page, { name: 'take', event: 'onClick' });
  await eventually(async () => expect(await page.shown('free')).toMatchObject({ value: '3' }));
  await choose(page, 'requests', 'subject', 'Charged twice');
  await start(page, { name: 'reply', event: 'onSubmit', values: { answer: 'One is given back.' } });
  expect(await ended(page, 'answer')).toMatchObject({ status: 'COMPLETED', output: { state: 'answered' } });
  await eventually(async () => expect(await rowsOf(page, 'requests')).toHaveLength(3));

  await choose(page, 'requests', 'priority', 'urgent');
  await start(page, { name: 'reply', event: 'onSubmit', values: { answer: 'No' } });
  await answer({ decision: 'reject', comment: 'Be kind' });
  await eventually(async () => expect(await ended(page, 'answer')).toMatchObject({ status: 'FAILED' }), 30_000);
  expect(await page.shown('urgent')).toMatchObject({ value: '1' });
});

test('refund tool: never more than was paid is given back, and a large refund by two', async () => {
  using page = await open('refund-tool');
  const give = async (paymentID: string, amount: number) => {
    await choose(page, 'payments', 'payment_id', paymentID);
    const sent = page.fire('give', 'onSubmit', { values: { amount, reason: 'Came late' } });
    await eventually(async () => expect(page.state.messages.asked.get()).not.toBeNull());
    page.state.messages.asked.get()?.answer(true);
    expect(await sent).toBe(true);
  };
  await give('P-1001', 9.9);
  expect(await ended(page, 'refund')).toMatchObject({ status: 'COMPLETED', output: { refunded: 9.9, remaining: 50 } });
  await give('P-1001', 50.01);
  expect(await ended(page, 'refund')).toMatchObject({ status: 'FAILED' });
  await give('P-1002', 240);
  expect(await answer({ decision: 'approve' })).toBe('Give 240 of payment P-1002 back?');
  await eventually(async () => {
    const rows = await rowsOf(page, 'payments');
    expect(rows.map(({ payment_id, refunded }) => [payment_id, refunded]).sort()).toEqual([
      ...[
        ['P-1001', '9.90'],
        ['P-1002', '240.00'],
        ['P-1003', '0.00'],
        ['P-1004', '0.00'],
      ],
    ]);
  }, 30_000);
  await choose(page, 'payments', 'payment_id', 'P-1001');
  await eventually(async () =>
    expect(await rowsOf(page, 'history')).toMatchObject([{ amount: '9.90', given_by: viewer.email }]),
  );
});

test('customer 360: a customer with orders gets a note, and a call whose result is noted', async () => {
  using page = await open('customer-360');
  await choose(page, 'customers', 'name', 'Ada Lovelace');
  await eventually(async () => expect(await page.shown('total')).toMatchObject({ value: '468.00' }));
  await eventually(async () => expect(await rowsOf(page, 'orders')).toHaveLength(2));
  await start(page, { name: 'add', event: 'onSubmit', values: { title: 'Likes desks', note: null } });
  await eventually(async () => expect(await rowsOf(page, 'notes')).toMatchObject([{ title: 'Likes desks' }]));
  page.enter('about', { value: 'The new plan' });
  await start(page, { name: 'follow', event: 'onClick' });
  expect(await answer({ result: 'She takes it' })).toBe('Call Ada Lovelace');
  await eventually(async () => {
    const notes = await rowsOf(page, 'notes');
    expect(notes.map(({ title, note }) => [title, note])).toEqual([
      ...[
        ['Called', 'She takes it'],
        ['Follow-up', 'The new plan'],
        ['Likes desks', null],
      ],
    ]);
  }, 30_000);
});

test('feature flags: a flag is switched on and off, a protected one by two, and each change is kept', async () => {
  using page = await open('feature-flags');
  await choose(page, 'flags', 'name', 'new-checkout');
  expect(await page.shown('turn')).toMatchObject({ label: 'Switch on' });
  await start(page, { name: 'turn', event: 'onClick' });
  expect(await ended(page, 'switch')).toMatchObject({ status: 'COMPLETED', output: { isOn: true } });
  await eventually(async () => expect(await page.shown('on')).toMatchObject({ value: 1 }));
  await choose(page, 'flags', 'name', 'new-checkout');
  expect(await page.shown('turn')).toMatchObject({ label: 'Switch off' });
  await choose(page, 'flags', 'name', 'payments-v2');
  await start(page, { name: 'turn', event: 'onClick' });
  await answer({ decision: 'approve' });
  await eventually(async () => expect(await page.shown('on')).toMatchObject({ value: 2 }), 30_000);
  page.enter('flags', { selectedRow: null, selectedRows: [] });
  await eventually(async () => {
    const changes = await rowsOf(page, 'changes');
    expect(changes.map(({ name, change, changed_by }) => [name, change, changed_by])).toEqual([
      ...[
        ['payments-v2', 'switched on', viewer.email],
        ['new-checkout', 'switched on', viewer.email],
      ],
    ]);
  });
});

test('import monitor: an import is started by a click, and its refused lines are shown with the reason', async () => {
  using page = await open('import-monitor');
  expect(await page.shown('state')).toMatchObject({ value: 'none yet' });
  await start(page, { name: 'run', event: 'onClick' });
  expect(await ended(page, 'import')).toMatchObject({ status: 'COMPLETED', output: { imported: 3, refused: 2 } });
  await eventually(async () => expect(await page.shown('state')).toMatchObject({ value: 'done' }));
  await choose(page, 'imports', 'started_by', viewer.email);
  await eventually(async () =>
    expect(await rowsOf(page, 'faults')).toMatchObject([
      { line: 3, fault: 'The price is not a number: on request' },
      { line: 5, fault: 'The line has no SKU' },
    ]),
  );
});
