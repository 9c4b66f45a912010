/** Pages that a model proposes: what is planned of a new one, and what a change does to the page that is open. */
import { expect, test } from 'vitest';
import type { PageDocument } from '#ops/console/builder/document.ts';
import { bundleOf } from '#ops/console/builder/made/plan.ts';
import { pageDifferences } from '#ops/console/builder/made/proposed-differences.ts';
import {
  type PageProposal,
  pageProposalIn,
  planOfProposal,
  withProposal,
} from '#ops/console/builder/made/proposed-page.ts';
import { newID } from '#shared/core/ids.ts';

const WORKFLOW = '01990d3e-5c00-7a10-8000-000000000009';
const key = (name: string) => `widget_01990d3e-5c00-7a10-8000-000000000030_${name}`;
const query = { title: 'Orders', dataQueryOptions: { query: 'select 1 as id' } };

const proposal: PageProposal = {
  ...{ appPageID: null, title: 'Refunds', summary: 'Orders with a button.', removedWidgets: [] },
  sources: [
    { alias: 'orders', query, triggerMode: 'reactive', inputValues: {} },
    {
      alias: 'refund',
      workflowID: WORKFLOW,
      triggerMode: 'manual',
      inputValues: { id: '{{widgets.orders.selectedRow.id}}' },
    },
  ],
  widgets: [
    { name: 'orders', type: 'table', title: 'Orders', properties: { items: '{{queries.orders.data}}' } },
    {
      ...{ name: 'refund', type: 'button', title: 'Refund', properties: { label: 'Refund' } },
      events: { onClick: [{ type: 'TRIGGER_WORKFLOW', alias: 'refund' }] },
    },
    { name: 'note', type: 'text', title: 'Note', properties: { content: 'Be kind' } },
  ],
  rows: [[{ widget: 'orders', span: 8 }, { widget: 'refund', span: 4 }, { widget: 'orders' }]],
};

const document: PageDocument = {
  ...{ kind: 'app-page', id: 'p', title: 'Refunds' },
  config: {
    ...{ own: 1, widgets: [key('orders'), key('old')] },
    dataSources: [
      { alias: 'orders', type: 'query', queryID: 'q1' },
      { alias: 'other', type: 'query', queryID: 'q2' },
    ],
    layout: {
      ...{ id: 'root', type: 'column' },
      children: ['orders', 'old'].map((name) => ({ id: name, type: 'widget', widgetKey: key(name) })),
    },
  },
  widgets: {
    [key('orders')]: {
      ...{ key: key('orders'), id: 'w1', title: 'Orders', type: 'table', refreshInterval: 0 },
      config: { properties: { items: '{{queries.orders.data}}' }, mine: true },
    },
    [key('old')]: { key: key('old'), id: 'w2', title: 'Old', type: 'text', refreshInterval: 0, config: {} },
  },
};

test('a new page is a draft with its queries, its widgets in rows, and those without a place below', () => {
  const plan = planOfProposal(proposal, newID);
  const page = bundleOf(plan).items.at(-1);

  expect(page?.payload).toMatchObject({ appPageTitle: 'Refunds', isDraft: true });
  expect(plan.queries).toMatchObject([{ title: 'Orders', options: query.dataQueryOptions }]);
  expect(plan.page.config.dataSources).toMatchObject([
    { alias: 'orders', type: 'query', queryID: plan.queries[0]?.id },
    { alias: 'refund', type: 'workflow', workflowID: WORKFLOW },
  ]);
  const [orders, refund, note] = plan.widgets.map((widget) => widget.key);
  expect(plan.page.config.layout).toMatchObject({
    children: [
      {
        type: 'row',
        children: [
          { widgetKey: orders, span: 8 },
          { widgetKey: refund, span: 4 },
        ],
      },
      { type: 'widget', widgetKey: note },
    ],
  });
  expect(page?.dependencies).toContainEqual({ type: 'workflow', id: WORKFLOW });
});

test('a change adds, changes and removes what it names, and leaves the rest as it is', () => {
  const change: PageProposal = {
    ...proposal,
    ...{ appPageID: 'p', title: 'Refunds of orders', removedWidgets: ['old', 'never there'] },
    widgets: [
      { name: 'orders', type: 'table', title: 'Orders', properties: { isSelectable: true } },
      ...proposal.widgets.slice(1, 2),
    ],
    rows: [],
  };
  const after = withProposal(document, change, new Map([['orders', 'q9']]));

  expect(after.config).toMatchObject({
    own: 1,
    dataSources: [
      { alias: 'orders', queryID: 'q9' },
      { alias: 'other', queryID: 'q2' },
      { alias: 'refund', workflowID: WORKFLOW },
    ],
  });
  const [, button = ''] = after.config.widgets as string[];
  expect(after.config.widgets).toEqual([key('orders'), button]);
  expect(after.widgets[key('orders')]).toMatchObject({
    id: 'w1',
    config: { properties: { isSelectable: true }, mine: true },
  });
  expect(after.widgets[button]).toMatchObject({ title: 'Refund', type: 'button' });
  expect(after.widgets[button]?.id).toBeUndefined();
  expect(pageDifferences(document, after).map(({ what, name, verb }) => `${what} ${name} ${verb}`)).toEqual([
    ...['Page Refunds of orders changed', 'Widget Refund added', 'Widget Old removed', 'Data orders changed'],
    ...['Data refund added', 'Layout where the parts stand changed', 'Widget Orders changed'],
  ]);
  expect(pageDifferences(after, withProposal(after, change, new Map([['orders', 'q9']])))).toEqual([]);
});

test('a change of several widgets in a row stands in a row behind the others', () => {
  const after = withProposal(document, {
    ...{ ...proposal, appPageID: 'p', title: undefined as never, sources: [] },
    widgets: proposal.widgets.slice(1),
    rows: [[{ widget: 'refund', span: 3 }, { widget: 'note' }]],
  });
  const { children } = after.config.layout as { children: Record<string, unknown>[] };

  expect(children.map(({ type }) => type)).toEqual(['widget', 'widget', 'row']);
  expect(after.title).toBe('Refunds');
  expect(after.config.widgets).toHaveLength(4);
});

test('a proposal that was cut is none', () => {
  expect(pageProposalIn({ ...proposal })).toBeDefined();
  expect(pageProposalIn({ appPageID: null, summary: 'x', sources: [] })).toBeUndefined();
});

test('a new query under a name that the page has is a change until it is created, and has its own id then', () => {
  const own = { ...proposal, widgets: [], sources: [{ alias: 'orders', query }] };
  const queryOf = (page: PageDocument) => (page.config.dataSources as { queryID?: string }[])[0]?.queryID;
  expect(pageDifferences(document, withProposal(document, own))).not.toEqual([]);
  expect(queryOf(withProposal(document, own, new Map([['orders', 'made']])))).toBe('made');
});
