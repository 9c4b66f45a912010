/** Pages that are made from what a tenant has: what is planned, and that all of it works on a real server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formOfWorkflow } from '#ops/console/builder/made/form-of-workflow.ts';
import { isReading, pageOfQuery } from '#ops/console/builder/made/page-of-query.ts';
import { pageOfTable, possibleWith, withoutField } from '#ops/console/builder/made/page-of-table.ts';
import { bundleOf, labelOf, type Plan } from '#ops/console/builder/made/plan.ts';
import type { Schemas } from '#ops/console/client/types.ts';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aDataQuery, aMember, aTenant, aWorkflow, type TestTenant } from '../support/factories.ts';

type Table = Schemas['DatabaseTable'];
type Properties = Record<string, unknown> & { fields: Record<string, unknown>[] };

const all = { add: true, change: true, remove: true };

function widget(plan: Plan, name: string): Properties {
  const found = plan.widgets.find(({ id, key }) => key === `widget_${id}_${name}`);
  return (found?.config.properties ?? expect.fail(`there is no widget ${name}`)) as Properties;
}

function fieldsOf(plan: Plan, name: string) {
  return Object.fromEntries(widget(plan, name).fields.map(({ key, ...field }) => [key, field]));
}

describe('a page of a table', () => {
  let cluster: Cluster;
  let tenant: TestTenant;
  const api = (user = tenant.creator) => cluster.as(user).in(tenant);
  beforeAll(async () => {
    cluster = await startCluster();
    tenant = await aTenant(cluster);
    await sql(`
      create type mood as enum ('calm', 'cross');
      create table orders (
        id bigint generated always as identity primary key, "Customer name" text not null, state text not null default 'open',
        total numeric(10,2) not null default 0, big numeric, note text, paid boolean not null default false, sent boolean,
        mood mood, day date, made timestamptz not null default now(), more jsonb, tags text[], "order" int
      );
      insert into orders ("Customer name", state, total, paid, mood, note, big)
        select 'Customer ' || n, case when n % 3 = 0 then 'paid' else 'open' end, n, n % 2 = 0, 'calm', '', 90071992547409931
          from generate_series(1, 45) n;
      create table lines (order_id bigint, number int, text text, primary key (order_id, number));
      create table log (line text);
      insert into log values ('a');
      create view recent as select id, state from orders;
    `);
  }, 60_000);
  afterAll(() => cluster[Symbol.asyncDispose]());

  async function sql(text: string) {
    const { status, body } = await api().post('T/database/execute-raw-sql', { sql: text });
    expect({ status, error: body.error ?? null }).toEqual({ status: 200, error: null });
    return body.result;
  }

  async function tableOf(name: string): Promise<Table> {
    const { databaseTables } = (await api().get('T/database/schemas/public/tables')).body;
    return databaseTables.find((one: Table) => one.databaseTableName === name);
  }

  async function made(name: string, doing = all) {
    const table = await tableOf(name);
    const plan = pageOfTable({ table, title: labelOf(name), doing, newID });
    const imported = await api().post('T/import/execute', { bundle: bundleOf(plan) });
    expect({ status: imported.status, error: imported.body.error ?? null }).toEqual({ status: 201, error: null });
    const { results } = imported.body as Schemas['BundleImported'];
    const page = results.find(({ type }) => type === 'appPage')?.newID;
    const viewer = await aMember(cluster, { tenant, can: ['appPage.read'] });
    /** Runs a query of the page as a member who may read the page alone. */
    const run = async (alias: string, inputValues: object) => {
      const { body } = await api(viewer).post(`T/app-pages/${page}/queries/${alias}/run`, { inputValues });
      return body.error ? body.error.message : body.dataQueryResult;
    };
    return { plan, page, run, results };
  }

  const paging = {
    search: '',
    order: ' ',
    limit: 20,
    offset: 0,
    only_state: null,
    only_paid: null,
    only_sent: null,
    only_mood: null,
  };

  test('its viewers find, order and page rows, without a right to the table', async () => {
    const { run } = await made('orders');
    const ids = async (inputs: object) =>
      (await run('rows', { ...paging, ...inputs })).map(({ id }: { id: string }) => Number(id));

    expect(await ids({ limit: 3, offset: 3 })).toEqual([4, 5, 6]);
    expect(await ids({ search: 'mer 4', limit: 3, order: 'total desc' })).toEqual([45, 44, 43]);
    // As a value: neither a pattern nor SQL.
    expect(await ids({ search: '%' })).toEqual([]);
    expect(await ids({ search: "' or 1=1 --" })).toEqual([]);
    expect(await ids({ order: 'Customer name asc', limit: 2 })).toEqual([1, 10]);
    expect(await ids({ order: 'no column desc; drop table orders', limit: 2 })).toEqual([1, 2]);
    expect(await ids({ only_state: 'paid', only_paid: 'true', limit: 2 })).toEqual([6, 12]);
    expect(
      await run('count', { search: '', only_state: 'paid', only_paid: 'true', only_sent: null, only_mood: null }),
    ).toEqual([{ count: '7' }]);
    expect(await run('values_state', {})).toEqual([{ state: 'open' }, { state: 'paid' }]);
  });

  test('a row is added with the defaults of the table, changed without a loss of digits or texts, and deleted by its key', async () => {
    const { plan, run } = await made('orders');
    const empty = Object.fromEntries(Object.keys(fieldsOf(plan, 'add')).map((key) => [key, null]));
    const [added] = await run('add', {
      ...empty,
      ...{ Customer_name: "O'Brien", state: 'open', total: '12.50', big: '123456789012345678901', paid: true },
      ...{ mood: 'cross', more: { a: [1] }, order_2: 7, day: '2026-03-02' },
    });
    expect(added).toMatchObject({
      ...{ 'Customer name': "O'Brien", state: 'open', total: '12.50', big: '123456789012345678901', paid: true },
      ...{ sent: null, mood: 'cross', day: '2026-03-02', more: { a: [1] }, tags: null, order: 7 },
    });
    expect(Date.now() - Date.parse(added.made)).toBeLessThan(60_000);

    const values = Object.fromEntries(Object.entries(fieldsOf(plan, 'change')).map(([key]) => [key, null]));
    const before = {
      Customer_name: added['Customer name'],
      state: 'sent',
      total: added.total,
      big: added.big,
      note: '',
    };
    const changed = { ...values, ...before, paid: true, made: added.made, more: added.more, order_2: null };
    expect(await run('change', { id: added.id, ...changed })).toEqual([
      { ...added, state: 'sent', mood: null, day: null, order: null, note: '' },
    ]);
    expect(await run('change', { id: '99999', ...changed })).toEqual([]);
    expect(await run('change', { id: null, ...changed })).toContain('id: is required');
    expect(await run('add', { ...empty, Customer_name: 'x', mood: 'angry' })).toContain(
      'invalid input value for enum mood',
    );
    expect(await run('remove', { id: added.id })).toEqual([{ id: added.id }]);
    expect(await run('remove', { id: added.id })).toEqual([]);
  });

  test('its forms have the types of the table: what it requires, its choices, and its defaults', async () => {
    const { plan } = await made('orders');
    expect(fieldsOf(plan, 'add')).toEqual({
      Customer_name: { label: 'Customer name', type: 'text', isRequired: true },
      state: { label: 'State', type: 'text', isRequired: true, defaultValue: 'open' },
      total: { label: 'Total', type: 'text', isRequired: true, defaultValue: '0' },
      big: { label: 'Big', type: 'text' },
      note: { label: 'Note', type: 'textarea' },
      paid: { label: 'Paid', type: 'checkbox', defaultValue: false },
      sent: {
        ...{ label: 'Sent', type: 'select' },
        options: [
          { label: 'Yes', value: true },
          { label: 'No', value: false },
        ],
      },
      mood: { label: 'Mood', type: 'select', options: ['calm', 'cross'] },
      day: { label: 'Day', type: 'date' },
      made: { label: 'Made (empty: now())', type: 'text' },
      more: { label: 'More', type: 'textarea' },
      order_2: { label: 'Order', type: 'number' },
    });
    expect(fieldsOf(plan, 'change')).toMatchObject({
      Customer_name: { isRequired: true, defaultValue: '{{widgets.rows.selectedRow["Customer name"]}}' },
      made: { isRequired: true, label: 'Made (such as 2026-03-05 14:05:00+01)' },
      order_2: { defaultValue: '{{widgets.rows.selectedRow.order}}' },
    });
    expect(withoutField(await tableOf('orders'))).toEqual(['tags']);
    const columns = widget(plan, 'rows').columns as Record<string, unknown>[];
    expect(columns.filter(({ isHidden }) => !isHidden).map(({ key, type }) => [key, type ?? ''])).toEqual([
      ...[
        ['id', ''],
        ['Customer name', ''],
        ['state', 'badge'],
        ['total', 'number'],
        ['big', ''],
      ],
      ...[
        ['note', ''],
        ['paid', 'boolean'],
        ['sent', 'boolean'],
      ],
    ]);
    expect(widget(plan, 'filter_mood').options).toEqual(['calm', 'cross']);
  });

  test('a key of several columns names a row; without a key nothing is changed, and a view is only read', async () => {
    const lines = await made('lines');
    await lines.run('add', { order_id: '1', number: 1, text: 'one' });
    await lines.run('add', { order_id: '1', number: 2, text: 'two' });
    expect(await lines.run('change', { order_id: '1', number: 2, text: 'three' })).toMatchObject([
      { number: 2, text: 'three' },
    ]);
    expect(await sql('select text from lines order by number')).toEqual([{ text: 'one' }, { text: 'three' }]);

    expect(possibleWith(await tableOf('log'))).toEqual({ add: true, change: false, remove: false });
    const log = await made('log');
    expect(log.plan.queries.map(({ title }) => title)).toEqual(['Log: rows', 'Log: how many', 'Log: add a row']);
    expect(await log.run('rows', { search: 'A', order: ' ', limit: 20, offset: 0 })).toEqual([{ line: 'a' }]);

    expect(possibleWith(await tableOf('recent'))).toEqual({ add: false, change: false, remove: false });
    const { run, plan } = await made('recent');
    expect(plan.queries.map(({ title }) => title)).toEqual([
      ...['Recent: rows', 'Recent: how many', 'Recent: values of state'],
    ]);
    expect(await run('rows', { search: '', order: 'id asc', limit: 1, offset: 0, only_state: null })).toMatchObject([
      { id: '1' },
    ]);
  });

  test('what people may not do on the page has neither a query nor a form', async () => {
    const { plan, run } = await made('orders', { add: false, change: false, remove: false });
    expect(plan.widgets.map(({ type }) => type).filter((type) => type === 'form' || type === 'button')).toEqual([]);
    expect(JSON.stringify(plan.queries)).not.toMatch(/insert into|update orders|delete from/);
    expect(await run('remove', { id: 1 })).toMatch(/remove/);
  });

  test('it is created whole or not at all, and a second try makes no second one', async () => {
    const table = await tableOf('lines');
    const plan = pageOfTable({ table, title: 'Twice', doing: all, newID });
    const bundle = bundleOf(plan);
    const titles = async () => (await api().get('T/queries?search=Twice&limit=100')).body.dataQueries.length;
    const [faulty] = bundle.items.filter(({ type }) => type === 'appPage');
    const broken = { ...bundle, items: [...bundle.items.filter((one) => one !== faulty), { ...faulty, payload: {} }] };
    expect((await api().post('T/import/execute', { bundle: broken })).status).toBe(400);
    expect(await titles()).toBe(0);

    await api().post('T/import/execute', { bundle });
    const count = await titles();
    const again = await api().post('T/import/execute', { bundle });
    expect(count).toBe(plan.queries.length);
    expect(await titles()).toBe(count);
    expect(again.body.results.find(({ type }: { type: string }) => type === 'appPage')).toMatchObject({
      action: 'unchanged',
    });
  });

  test('a page of a query asks for its inputs, and one of a workflow starts it with what is entered', async () => {
    const query = {
      query: 'select {{inputs.day}}::date + {{inputs.days}}::int as until',
      inputDefinitions: [
        { key: 'day', type: 'date', required: true },
        { key: 'days', type: 'integer', default: 3 },
      ],
    };
    const { id } = await aDataQuery(cluster, { tenant, title: 'Until', query: query as never });
    const wanted = { query: { id, title: 'Until', options: query }, title: 'Until', shape: 'values', newID } as const;
    const imported = await api().post('T/import/execute', {
      bundle: bundleOf(pageOfQuery({ ...wanted, isReading: isReading(query) })),
    });
    const page = imported.body.results.find(({ type }: { type: string }) => type === 'appPage').newID;
    const run = await api().post(`T/app-pages/${page}/queries/result/run`, {
      inputValues: { day: '2026-03-02', days: 3 },
    });
    expect(run.body.dataQueryResult).toEqual([{ until: '2026-03-05' }]);

    const definitions = [{ key: 'who', type: 'string', required: true }];
    const workflow = await aWorkflow(cluster, {
      tenant,
      title: 'Greet',
      options: { inputDefinitions: definitions } as never,
    });
    const form = formOfWorkflow({
      workflow: { id: workflow.id, title: 'Greet', description: '', inputDefinitions: definitions },
      ...{ title: 'Greet', newID },
    });
    const { results } = (await api().post('T/import/execute', { bundle: bundleOf(form) })).body;
    const ofWorkflow = results.find(({ type }: { type: string }) => type === 'appPage').newID;
    const started = await api().post(`T/app-pages/${ofWorkflow}/workflows/run/execute`, {
      inputValues: { who: 'Ada' },
    });
    expect({ status: started.status, error: started.body.error ?? null }).toEqual({ status: 200, error: null });
  });
});

describe('a page of a query', () => {
  const page = (options: object, more: object = {}) =>
    pageOfQuery({
      ...{ query: { id: newID(), title: 'Orders', options: options as never }, title: 'Orders', isReading: true },
      ...{ shape: 'table', newID, ...more },
    });

  test.each<[object, boolean]>([
    [{ query: 'select 1' }, true],
    [{ query: '-- all\nwith a as (select 1) select * from a' }, true],
    [{ query: 'with a as (delete from b returning *) select * from a' }, false],
    [{ query: 'update a set b = 1' }, false],
    [{ query: 'select * into c from b' }, false],
    [{ method: 'GET', path: '/orders' }, true],
    [{ method: 'POST', path: '/orders' }, false],
    [{ query: 'select {{inputs.a}}', inputDefinitions: [{ key: 'a', required: true }] }, false],
    [{ query: 'select {{inputs.a}}', inputDefinitions: [{ key: 'a', required: true, default: 1 }] }, true],
  ])('%j is run when the page opens: %s', (options, expected) => {
    expect(isReading(options as never)).toBe(expected);
  });

  test('each input has a widget of its type, with its default, and its change reads again', () => {
    const inputDefinitions = [
      { key: 'name', placeholder: 'Ada' },
      { key: 'least', type: 'number', default: 5 },
      { key: 'isOpen', type: 'boolean', default: true },
      { key: 'since', type: 'date' },
      { key: 'state', type: 'choice', options: ['open', 'paid'], title: 'State of {{it}}' },
      { key: 'odd', default: '{{secret}}' },
    ];
    const { widgets, page: made } = page({ inputDefinitions });
    expect(widgets.map(({ type, config: { properties } }) => [type, properties]).slice(0, 6)).toEqual([
      ['text-input', { label: 'Name', placeholder: 'Ada' }],
      ['text-input', { label: 'Least', defaultValue: 5, inputType: 'number' }],
      ['switch', { label: 'Is open', isOn: true }],
      ['date-picker', { label: 'Since' }],
      // Words of a person are no expression of the page.
      ['select', { label: 'State of { {it}}', options: ['open', 'paid'] }],
      ['text-input', { label: 'Odd' }],
    ]);
    expect(made.config.dataSources).toMatchObject([
      {
        alias: 'result',
        triggerMode: 'reactive',
        inputValues: { name: '{{widgets.input_1.value}}', odd: '{{widgets.input_6.value}}' },
      },
    ]);
  });

  test('a query that changes something waits for a button, with a form if it has inputs', () => {
    const { widgets, page: made } = page(
      { inputDefinitions: [{ key: 'a b', required: true }] },
      { isReading: false, shape: 'json' },
    );
    expect(widgets.map(({ type }) => type)).toEqual(['form', 'json-viewer']);
    expect(made.config.dataSources).toMatchObject([
      { triggerMode: 'manual', inputValues: { 'a b': '{{event.values["a b"]}}' } },
    ]);
    expect(page({}, { isReading: false, shape: 'values' }).widgets.map(({ type }) => type)).toEqual([
      'button',
      'key-value',
    ]);
  });
});

test('names become labels as people write them', () => {
  expect(['customer_name', 'customerName', 'orderID', 'isOpen', 'id', ' ', 'größe'].map(labelOf)).toEqual([
    ...['Customer name', 'Customer name', 'Order ID', 'Is open', 'Id', ' ', 'Größe'],
  ]);
});
