import { describe, expect, test } from 'vitest';
import type { PageDocument } from '#ops/console/builder/document.ts';
import {
  addSource,
  nameFrom,
  type Source,
  sourcesOf,
  withSource,
  withVariable,
} from '#ops/console/builder/panels/config.ts';
import { changesIn, followedByAll, followersOf, withFollowers } from '#ops/console/builder/panels/data/read-again.ts';
import { triggerFor } from '#ops/console/builder/panels/data/trigger.ts';
import { shapeOfEvent, shownEvents, withActions } from '#ops/console/builder/panels/events/actions-of.ts';
import { offWithoutRow } from '#ops/console/builder/panels/events/needs-row.ts';
import { demandsOf, isPermitted } from '#ops/console/builder/panels/preview/may-do.ts';
import { renamed, usersOf } from '#ops/console/builder/panels/rename.ts';
import { changedGrants, opensBy, sharedWith, unsharedWith } from '#ops/console/builder/panels/sharing/share.ts';
import { whoReads } from '#ops/console/builder/panels/sharing/who-reads.ts';
import { sameNames } from '#ops/console/builder/panels/values/chosen-rows.ts';
import { type Nameable, pageValues } from '#ops/console/builder/panels/values/page-values.ts';
import { stateValues } from '#ops/console/builder/panels/values/state.ts';
import { pageChanges } from '#ops/console/builder/panels/versions/page-changes.ts';
import type { Grants } from '#ops/console/people/grants.ts';
import { faultsIn } from '#ops/console/values/check.ts';
import { completionsAt } from '#ops/console/values/complete.ts';
import { hasParts, partsOf } from '#ops/console/values/value.ts';
import { findWidgetType } from '#shared/apps/widgets/index.ts';

const keyOf = (name: string) => `widget_0193e0a0-0000-7000-8000-00000000000${name.length}_${name}`;

function aDocument(config: PageDocument['config'], widgets: Record<string, PageDocument['config']> = {}): PageDocument {
  const drafts = Object.entries(widgets).map(([name, { type = 'table', ...own }]) => {
    const widget = { key: keyOf(name), id: keyOf(name).slice(7, 43), title: `The ${name}`, refreshInterval: 0 };
    return [widget.key, { ...widget, type: String(type), config: own }] as const;
  });
  return {
    ...{ kind: 'app-page', id: 'p', title: 'Order desk' },
    config: { widgets: drafts.map(([key]) => key), ...config },
    widgets: Object.fromEntries(drafts),
  };
}

function propertiesIn(document: PageDocument, name: string): Record<string, unknown> {
  return (document.widgets[keyOf(name)]?.config.properties ?? {}) as Record<string, unknown>;
}

describe('a new name', () => {
  const document = aDocument(
    {
      dataSources: [
        { alias: 'orders', type: 'query', queryID: 'q', inputValues: { day: '{{variables.day}}' }, note: 'kept' },
        { alias: 'old orders', type: 'query', queryID: 'q2', refreshOn: ['variables.day', 'queries.orders.data'] },
        { alias: 'orders2', type: 'workflow', workflowID: 'w' },
        'not understood',
      ],
      variables: [{ key: 'day', defaultValue: '{{state.day2}}' }, { key: 'day2' }],
    },
    {
      table: {
        properties: {
          items: '{{queries.orders.data}} {{ queries.orders.data | where: "state", queries.orders.rowCount }}',
          note: 'queries.orders.data stands here as a text',
          more: [
            '{{queries.orders2.data}}',
            '{{widgets.queries.orders}}',
            '{{[...queries.orders.data, queries?.orders]}}',
          ],
        },
      },
      button: {
        events: {
          onClick: [
            { type: 'EXECUTE_QUERY', alias: 'orders' },
            { type: 'SET_VARIABLE', key: 'day', value: '{{state.day}} {{variables["day"]}}' },
            { type: 'TRIGGER_WORKFLOW', alias: 'orders' },
          ],
        },
      },
      other: { properties: { label: 'Nothing' } },
    },
  );

  test('of a query is followed by expressions, actions and what it is read again for, and by nothing else', () => {
    const next = renamed(document, { root: 'queries', from: 'orders', to: 'openOrders' });
    const { items, note, more } = propertiesIn(next, 'table');
    expect(items).toBe(
      '{{queries.openOrders.data}} {{ queries.openOrders.data | where: "state", queries.openOrders.rowCount }}',
    );
    expect(note).toBe('queries.orders.data stands here as a text');
    expect(more).toEqual([
      '{{queries.orders2.data}}',
      '{{widgets.queries.orders}}',
      '{{[...queries.openOrders.data, queries?.openOrders]}}',
    ]);
    expect(next.widgets[keyOf('button')]?.config.events).toEqual({
      onClick: [
        { type: 'EXECUTE_QUERY', alias: 'openOrders' },
        { type: 'SET_VARIABLE', key: 'day', value: '{{state.day}} {{variables["day"]}}' },
        { type: 'TRIGGER_WORKFLOW', alias: 'orders' },
      ],
    });
    expect(next.config.dataSources).toEqual([
      expect.objectContaining({ alias: 'openOrders', note: 'kept' }),
      { alias: 'old orders', type: 'query', queryID: 'q2', refreshOn: ['variables.day', 'queries.openOrders.data'] },
      { alias: 'orders2', type: 'workflow', workflowID: 'w' },
      'not understood',
    ]);
    // A widget that does not name it is the same object, so that saving leaves it alone.
    expect(next.widgets[keyOf('other')]).toBe(document.widgets[keyOf('other')]);
  });

  test('that no path can have is written in quotes', () => {
    const next = renamed(document, { root: 'queries', from: 'orders', to: 'open orders' });
    const { items } = propertiesIn(next, 'table');
    expect(items).toContain('{{queries["open orders"].data}}');
    const back = renamed(next, { root: 'queries', from: 'open orders', to: 'orders' });
    expect(back).toEqual(document);
  });

  test('leaves texts and comments alone, has no limit, and may have quotes in it', () => {
    const many = '{{queries.orders.data}}'.repeat(300);
    const text = `{{"queries.orders" + 'it\\'s queries.orders' + queries.orders.x /* queries.orders */}}`;
    const own = aDocument(
      { dataSources: [{ alias: 'orders', type: 'query', queryID: 'q' }] },
      { table: { properties: { many, text } } },
    );
    const next = renamed(own, { root: 'queries', from: 'orders', to: 'a"b\\c' });
    const { many: all, text: one } = propertiesIn(next, 'table');
    expect(all).toBe('{{queries["a\\"b\\\\c"].data}}'.repeat(300));
    expect(one).toBe(`{{"queries.orders" + 'it\\'s queries.orders' + queries["a\\"b\\\\c"].x /* queries.orders */}}`);
    expect(renamed(next, { root: 'queries', from: 'a"b\\c', to: 'orders' })).toEqual(own);
  });

  test('of a variable is followed by both of its roots', () => {
    const next = renamed(document, { root: 'variables', from: 'day', to: 'chosenDay' });
    expect(next.config.variables).toEqual([{ key: 'chosenDay', defaultValue: '{{state.day2}}' }, { key: 'day2' }]);
    expect(next.widgets[keyOf('button')]?.config.events).toEqual({
      onClick: expect.arrayContaining([
        { type: 'SET_VARIABLE', key: 'chosenDay', value: '{{state.chosenDay}} {{variables.chosenDay}}' },
      ]),
    });
    expect(sourcesOf(next.config).map(({ inputValues, refreshOn }) => inputValues ?? refreshOn)).toEqual([
      { day: '{{variables.chosenDay}}' },
      ['variables.chosenDay', 'queries.orders.data'],
      undefined,
    ]);
  });

  test('tells first which widgets it concerns', () => {
    const titles = (root: 'queries' | 'workflows' | 'variables', name: string) =>
      usersOf(document, root, name).map(({ title }) => title);
    expect(titles('queries', 'orders')).toEqual(['The table', 'The button']);
    expect(titles('workflows', 'orders')).toEqual(['The button']);
    expect(titles('variables', 'day')).toEqual(['The button']);
    expect(titles('queries', 'none')).toEqual([]);
  });

  test('is proposed by the title', () => {
    expect(nameFrom('Open orders of today', [])).toBe('openOrdersOfToday');
    expect(nameFrom('Öffentliche Bestellungen', ['offentlicheBestellungen'])).toBe('offentlicheBestellungen2');
    expect(nameFrom('2026 – ', [])).toBe('data2026');
  });
});

test('data sources and variables that are not understood stay where they are', () => {
  const document = aDocument({
    dataSources: ['?', { alias: 'a', type: 'query', queryID: 'q' }, { type: 'later' }],
    variables: [7],
  });
  const added = addSource(document, { alias: 'b', type: 'workflow', workflowID: 'w' });
  expect(added.config.dataSources).toEqual([
    '?',
    { alias: 'a', type: 'query', queryID: 'q' },
    { type: 'later' },
    { alias: 'b', type: 'workflow', workflowID: 'w' },
  ]);
  expect(withSource(added, 'a', undefined).config.dataSources).toHaveLength(3);
  expect(withVariable(added, 'day', undefined).config.variables).toEqual([7]);
});

describe('values of a page', () => {
  const nameable: Nameable = {
    queries: [
      { name: 'orders', value: { data: [{ id: 1, state: 'open' }], status: 'ready', rowCount: 1 } },
      { name: 'unread', value: undefined },
    ],
    workflows: [{ name: 'pay', value: { status: null, output: null } }],
    variables: [{ name: 'day', value: null }],
    widgets: [
      { name: 'table', value: { selectedRow: null, page: 1 } },
      { name: 'fresh', value: {} },
    ],
    viewer: { email: 'ada@example.com' },
    page: { id: 'p', title: 'Order desk', params: {} },
  };
  const values = pageValues(nameable);
  const faults = (text: string) => faultsIn(text, values).map(({ message }) => message);

  test('say which names are not there, and what was meant', () => {
    expect(faults('{{querys.orders.data}}')[0]).toContain('“querys” is not known');
    expect(faults('{{queries.order.data}}')).toEqual(['This page has no “order”. Did you mean queries.orders?']);
    expect(faults('{{queries.orders.dta}}')).toEqual([
      'queries.orders had no “dta” now. Did you mean queries.orders.data?',
    ]);
    expect(faults('{{variables.dayy | upper}}')).toEqual(['This page has no “dayy”. Did you mean variables.day?']);
    expect(faults('{{queries.orders.data | where: "day", variables.dya}}')[0]).toContain('no “dya”');
    expect(faults('{{queries.ordrs.data.filter((row) => row.id > 1).length}}')[0]).toContain('no “ordrs”');
    expect(faults('{{viewer.mail}}')[0]).toContain('Did you mean viewer.email?');
    expect(faults('{{event.row}}')[0]).toContain('“event” is no value here');
    expect(faults('{{}}')[0]).toContain('is empty');
  });

  test('leave alone what may be there later, filters and JavaScript', () => {
    for (const text of [
      '{{widgets.table.selectedRow.id}}',
      '{{widgets.fresh.value}}',
      '{{queries.orders.data[0].note}}',
      '{{queries.unread.data[3].id}}',
      '{{workflows.pay.output.total}}',
      '{{variables.day.from}}',
      '{{state.day}}',
      '{{page.params.id | default: "none"}}',
      '{{queries.orders.data.map((row) => row.anything).join()}}',
      '{{true}}',
    ])
      expect(faults(text)).toEqual([]);
  });

  test('complete the path at the caret, also behind a filter and in JavaScript', () => {
    const offered = (text: string) => {
      const caret = text.indexOf('|caret');
      const found = completionsAt(text.replace('|caret', ''), caret, values);
      return found?.options.map(({ label, insert }) => [label, insert]) ?? null;
    };
    expect(offered('{{que|caret')).toEqual([
      ['queries.orders', 'queries.orders}}'],
      ['queries.unread', 'queries.unread}}'],
    ]);
    expect(offered('{{queries.orders.da|caret}}')).toEqual([['data', 'queries.orders.data']]);
    expect(offered('{{queries.orders.data | where: "day", vari|caret}}')).toEqual([['variables.day', 'variables.day']]);
    expect(offered('{{queries.orders.data.length + widgets.table.p|caret}}')).toEqual([['page', 'widgets.table.page']]);
    expect(offered('{{queries.orders.data | |caret}}')).toBeNull();
    expect(offered('{{ |caret}}')?.length).toBeGreaterThan(5);
  });

  test('know the columns of a table before a row is chosen, and offer them first', () => {
    const chosenRows = [{ name: 'table', title: 'Orders', columns: ['id', 'customer'] }];
    const own = pageValues({ ...nameable, chosenRows });
    const [first] = own.groups;
    expect(first?.title).toBe('Chosen row of Orders');
    expect(first?.values.map(({ path }) => path.join('.'))).toEqual([
      ...['widgets.table.selectedRow.id', 'widgets.table.selectedRow.customer'],
    ]);
    expect(own.groups.at(-1)?.values.map(({ name }) => name)).toEqual(['fresh']);
    const caret = '{{widgets.table.selectedRow.cu'.length;
    expect(completionsAt('{{widgets.table.selectedRow.cu', caret, own)?.options.map(({ label }) => label)).toEqual([
      'customer',
    ]);
    expect(faultsIn('{{widgets.table.selectedRow.other}}', own)).toEqual([]);
    // In the tree of the picker they stand below the row too.
    const [table] = own.groups.find(({ title }) => title === 'Widgets')?.values ?? [];
    const row = table && partsOf(table).find(({ name }) => name === 'selectedRow');
    expect(row && hasParts(row)).toBe(true);
    expect(sameNames(['orderId', 'id', 'note'], ['order_id', 'ID'])).toEqual([
      ['orderId', 'order_id'],
      ['id', 'ID'],
    ]);
  });

  test('of an event are there for its actions, with results of those before', () => {
    const own = pageValues({ ...nameable, event: shapeOfEvent('onRowSelect', [{ type: 'EXECUTE_QUERY' }]) });
    expect(faultsIn('{{event.row.id}} {{event.result[0]}}', own)).toEqual([]);
    const caret = '{{event.'.length;
    expect(completionsAt('{{event.', caret, own)?.options.map(({ label }) => label)).toEqual(['row', 'rows', 'result']);
  });

  test('of queries that a widget binds itself are variables by the name that the server fills in', () => {
    const own = stateValues({ config: { variables: [{ key: 'day' }] } });
    expect(faultsIn('{{state.day}}', own)).toEqual([]);
    expect(faultsIn('{{variables.day}}', own)).toHaveLength(1);
  });
});

describe('events', () => {
  test('are those that the console tells, and others that have actions', () => {
    const names = ['onClick', 'onRefresh', 'onLoad', 'onRowSelect', 'onLater', 'onOther'];
    expect(shownEvents('table', names, {})).toEqual(['onRowSelect', 'onRefresh', 'onLoad']);
    expect(shownEvents('table', names, { events: { onOther: [{ type: 'COPY' }], onLater: [] } })).toEqual([
      ...['onRowSelect', 'onRefresh', 'onLoad', 'onOther'],
    ]);
    const ofTables = findWidgetType('table')?.events ?? [];
    expect(shownEvents('table', ofTables, {})).toEqual(ofTables);
    expect(shownEvents('button', ['onClick', 'onSubmit'], {})).toEqual(['onClick']);
    expect(shownEvents('button', ['onClick', 'onSubmit'], { events: { onSubmit: [{}] } })).toEqual([
      ...['onClick', 'onSubmit'],
    ]);
  });

  test('without an action are not in the config', () => {
    const config = { events: { onClick: [1], later: 'kept' } };
    expect(withActions(config, 'onClick', [])).toEqual({ events: { later: 'kept' } });
  });
});

describe('sharing', () => {
  const role = {
    rolePermissions: ['workflow.read'],
    assetPermissions: [{ resourceType: 'appPage', resourceID: 'other', action: 'read' }],
  } as never;
  const page = aDocument({}, { table: {} });

  test('gives a role this page beside all that it had, and takes only that away again', () => {
    const shared = sharedWith(role, page);
    expect([opensBy(role, page), opensBy(shared, page)]).toEqual(['none', 'this']);
    expect(shared.rolePermissions).toEqual(['workflow.read']);
    expect(shared.assetPermissions.map(({ resourceID }) => resourceID)).toEqual(['other', 'p']);
    expect(unsharedWith(shared, page)).toEqual(role);
  });

  test('of a dashboard gives its widgets too', () => {
    const dashboard = { ...page, kind: 'dashboard' } as const;
    const shared = sharedWith({ rolePermissions: [], assetPermissions: [] }, dashboard);
    expect(shared.assetPermissions.map(({ resourceType, action }) => `${resourceType}.${action}`)).toEqual([
      ...['dashboard.read', 'widget.execute'],
    ]);
  });

  test('sends the list of rights alone that it changes', () => {
    const before: Grants = { rolePermissions: ['workflow.read'], assetPermissions: [] };
    const shared = sharedWith(before, page);
    expect(changedGrants(before, shared)).toEqual({ assetPermissions: shared.assetPermissions });
    expect(changedGrants(before, before)).toEqual({});
  });

  test('leaves a role alone that opens all pages', () => {
    const all = { rolePermissions: ['appPage.*'], assetPermissions: [] };
    expect(opensBy(all, page)).toBe('all');
    expect(sharedWith(all, page)).toEqual(all);
  });
});

test('a button is off without a chosen row from when its action first needs one, unless that is said otherwise', () => {
  const on = (orders: object, properties = {}, dataSources: unknown[] = []) =>
    aDocument(
      { dataSources },
      {
        orders: { type: 'table' },
        go: {
          type: 'button',
          properties,
          events: { onClick: [{ type: 'TRIGGER_WORKFLOW', alias: 'pay', ...orders }] },
        },
      },
    );
  const key = keyOf('go');
  const off = { isDisabled: '{{widgets.orders.selectedRow | count | equals: 0}}' };
  const needs = { inputValues: { id: '{{widgets.orders.selectedRow.id}}' } };
  const before = on({});
  expect(propertiesIn(offWithoutRow(before, on(needs), key), 'go')).toEqual(off);
  // The page itself may give the input.
  const given = on({}, {}, [{ alias: 'pay', type: 'workflow', ...needs }]);
  expect(propertiesIn(offWithoutRow(aDocument({}), given, key), 'go')).toEqual(off);
  const own = on(needs, { isDisabled: false });
  expect(offWithoutRow(before, own, key)).toBe(own);
  // It was switched off by a person afterwards.
  expect(propertiesIn(offWithoutRow(on(needs), on(needs), key), 'go')).toEqual({});
});

describe('what may change something', () => {
  const document = aDocument(
    {
      dataSources: [
        { alias: 'orders', type: 'query', refreshOn: ['variables.day'] },
        { alias: 'how many', type: 'query', triggerMode: 'reactive' },
        { alias: 'save it', type: 'query', triggerMode: 'manual' },
        { alias: 'pay', type: 'workflow' },
      ],
    },
    {},
  );
  const followed = (now: PageDocument) => sourcesOf(now.config).map(({ refreshOn }) => refreshOn);

  test('is followed by all queries that are read by themselves, until a person takes some away', () => {
    const all = followedByAll(document, 'workflow', 'pay');
    expect(followed(all)).toEqual([
      ['variables.day', 'workflows.pay.status'],
      ['workflows.pay.status'],
      undefined,
      undefined,
    ]);
    const pay = sourcesOf(all.config).at(-1) as Source;
    expect(followersOf(all, pay)).toEqual(['orders', 'how many']);
    const less = withFollowers(all, pay, ['orders']);
    expect(followed(less)[1]).toBeUndefined();
    // Chosen once more, it leaves what the person has chosen.
    expect(followedByAll(less, 'workflow', 'pay')).toBe(less);
    expect(followed(withFollowers(less, pay, []))[0]).toEqual(['variables.day']);
  });

  test('is known to a query that is added later', () => {
    expect(changesIn(document)).toEqual(['queries["save it"].status', 'workflows.pay.status']);
    expect(followedByAll(document, 'query', 'orders')).toBe(document);
  });
});

test('a query that is added runs by itself only if it reads, and has all that it needs', () => {
  const reads = { query: 'select 1' };
  const asks = { query: 'select {{inputs.a}}', inputDefinitions: [{ key: 'a', required: true }] };
  expect(triggerFor(reads)).toBe('auto');
  expect(triggerFor(asks, { a: 1 })).toBe('auto');
  expect(triggerFor(asks, { a: '{{variables.day}}' })).toBe('reactive');
  for (const options of [undefined, { query: 'delete from a' }, { method: 'POST' }, {}, asks])
    expect(triggerFor(options)).toBe('manual');
});

test('whose rights count is said in words', () => {
  const sources = sourcesOf({
    dataSources: [
      { alias: 'orders', type: 'query' },
      { alias: 'customers', type: 'query' },
      { alias: 'pay', type: 'workflow' },
    ],
  });
  expect(whoReads('app-page', sources, 'you')).toMatch(/^Viewers read orders and customers and start pay as you: /);
  expect(whoReads('app-page', [], 'ada@example.com')).toContain('as ada@example.com');
  expect(whoReads('dashboard', sources, 'you')).toContain('gives no right');
});

test('what a role may not do on a page: what the page does not bind, other pages, uploads', () => {
  const document = aDocument(
    { dataSources: [{ alias: 'pay', type: 'workflow', workflowID: 'bound' }] },
    {
      one: {
        type: 'button',
        events: {
          onClick: [
            { type: 'TRIGGER_WORKFLOW', alias: 'pay' },
            { type: 'TRIGGER_WORKFLOW', workflowID: 'bound' },
            { type: 'TRIGGER_WORKFLOW', workflowID: 'free' },
            { type: 'TRIGGER_QUERY', queryID: 'query' },
            { type: 'OPEN_PAGE', appPageID: 'detail' },
          ],
        },
      },
      files: { type: 'file-upload' },
      picture: { type: 'image', properties: { src: '/api/v1/tenants/t/widgets/files?path=x' } },
    },
  );
  const refusedBy = (rolePermissions: string[], assets: [string, string, string][] = []) => {
    const assetPermissions = assets.map(([resourceType, resourceID, action]) => ({ resourceType, resourceID, action }));
    return demandsOf(document)
      .filter((demand) => !isPermitted(demand, [{ rolePermissions, assetPermissions } as never]))
      .map(({ widget, what }) => `${widget?.title ?? 'page'}: ${what}`);
  };
  expect(refusedBy([], [['appPage', 'p', 'read']])).toEqual([
    'The one: start the workflow',
    'The one: run the query',
    'The one: open the page',
    'The files: upload a file',
  ]);
  const onDashboard = demandsOf({ ...document, kind: 'dashboard' });
  expect(onDashboard.map(({ what }) => what)).toContain('see its file');
  expect(refusedBy(['appPage.read', 'workflow.*', 'dataquery.execute', 'widget.create', 'widget.execute'])).toEqual([]);
  expect(refusedBy(['workflow.*', 'dataquery.execute', 'widget.create'], [['widget', 'w', 'execute']])).toEqual([
    ...['page: open the page', 'The one: open the page'],
  ]);
});

test('versions of a page differ by what people name: widgets, data, variables, fields, and the layout', () => {
  const before = {
    title: 'Orders',
    description: null,
    config: {
      widgets: ['a', 'b'],
      layout: { id: 'root' },
      dataSources: [{ alias: 'orders', type: 'query', queryID: 'q', triggerMode: 'auto' }],
      variables: [{ key: 'day' }],
    },
  };
  const after = {
    title: 'Order desk',
    description: 'For the desk',
    config: {
      widgets: ['b', 'c'],
      layout: { id: 'root', children: [] },
      dataSources: [{ alias: 'orders', type: 'query', queryID: 'q', triggerMode: 'manual' }],
      variables: [{ key: 'month' }],
      theme: 'dark',
    },
  };
  const told = pageChanges(before, after, (key) => `Widget ${key}`).map(({ what, name, verb, fields }) => [
    ...[what, name, verb],
    ...fields.map(({ field }) => field),
  ]);
  expect(told).toEqual([
    ['Page', 'Order desk', 'changed', 'Title', 'Description', 'Theme'],
    ['Widget', 'Widget c', 'added'],
    ['Widget', 'Widget a', 'removed'],
    ['Data', 'orders', 'changed', 'When it is read'],
    ['Variable', 'month', 'added'],
    ['Variable', 'day', 'removed'],
    ['Layout', 'where the parts stand', 'changed'],
  ]);
  expect(pageChanges(after, after, String)).toEqual([]);
});
