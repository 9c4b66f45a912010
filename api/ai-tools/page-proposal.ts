import { z } from 'zod';
import { findWidgetType } from '#shared/apps/widgets/index.ts';
import { quote } from '#shared/core/quote.ts';

const Name = z
  .string()
  .regex(/^[a-z]\w{0,63}$/i, 'expected a name of letters, digits and _')
  .describe('A name without spaces, by which expressions read it');
const Values = z.record(z.string(), z.unknown());
const Inputs = Values.default({}).describe(
  'Inputs by name: a fixed value, or an expression such as "{{widgets.orders.selectedRow.id}}"',
);

const Source = z
  .object({
    alias: Name,
    query: z
      .object({ title: z.string().min(1).max(255), dataQueryOptions: Values })
      .optional()
      .describe("A new query of the tenant's own database: as proposeQuery takes it"),
    dataQueryID: z.uuid().optional().describe('A query that exists'),
    workflowID: z.uuid().optional().describe('A workflow that exists'),
    inputValues: Inputs,
    triggerMode: z
      .enum(['auto', 'reactive', 'manual'])
      .default('reactive')
      .describe(
        'auto: at opening; reactive: also when an input changes; manual: by an action alone, as queries that change something are',
      ),
    refreshOn: z.array(z.string().max(255)).max(20).optional(),
  })
  .refine(
    ({ query, dataQueryID, workflowID }) => [query, dataQueryID, workflowID].filter(Boolean).length === 1,
    'expected one of query, dataQueryID and workflowID',
  );

const Widget = z.object({
  name: Name,
  type: z.string().refine((type) => findWidgetType(type) !== undefined, {
    error: ({ input }) => `there is no type of widgets ${quote(input)}`,
  }),
  title: z.string().min(1).max(255),
  properties: Values.default({}),
  events: z
    .record(z.string(), z.array(Values).max(20))
    .optional()
    .describe('Actions by event, such as {"onClick": [{"type": "TRIGGER_WORKFLOW", "alias": "refund"}]}'),
});

export const PageProposal = z
  .object({
    appPageID: z.uuid().nullable().describe('The page that is changed; null for a new one'),
    title: z.string().min(1).max(255).optional().describe('Of a new page, or another title'),
    summary: z
      .string()
      .min(1)
      .max(2_000)
      .describe('For the user: what the page does or what changes, in a sentence or two'),
    sources: z
      .array(Source)
      .max(30)
      .default([])
      .describe('Queries and workflows that are added, or take the place of those with the same alias'),
    widgets: z
      .array(Widget)
      .max(60)
      .default([])
      .describe('Widgets that are added, and widgets that are changed, each whole. Others stay as they are'),
    removedWidgets: z.array(z.string().max(255)).max(100).default([]).describe('Names of widgets'),
    rows: z
      .array(
        z
          .array(z.object({ widget: Name, span: z.int().min(1).max(12).optional() }))
          .min(1)
          .max(12),
      )
      .max(60)
      .optional()
      .describe('Where the added widgets stand: rows of twelve columns. Absent: below one another'),
  })
  .refine(({ appPageID, title }) => appPageID !== null || title !== undefined, {
    path: ['title'],
    message: 'is required for a new page',
  })
  .refine(({ widgets }) => new Set(widgets.map(({ name }) => name)).size === widgets.length, {
    path: ['widgets'],
    message: 'two widgets have the same name',
  });
