import { z } from 'zod';
import { WidgetBindings } from '../../apps/widgets/bindings.ts';
import { Caller } from '../../core/caller.ts';
import { JsonObject, OwnJson } from '../../core/json.ts';
import { defineRPC } from './define-rpc.ts';

/** How the query of a binding ended. */
const BindingOutcome = z.object({
  dataQueryID: z.uuid(),
  title: z.string(),
  rowCount: z.int().nullable(),
  /** Whether the query had more rows than it may return. */
  truncated: z.boolean(),
  durationMs: z.number(),
  isCached: z.boolean(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
});
export type BindingOutcome = z.input<typeof BindingOutcome>;

export const WidgetAnswer = z.object({ widgetData: OwnJson, bindings: z.array(BindingOutcome) });

/** The data of a widget. Permissions have been checked by the API. */
export const widgetData = defineRPC({
  name: 'widget.data',
  request: z.object({
    tenantID: z.uuid(),
    caller: Caller,
    widget: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('stored'), widgetID: z.uuid() }),
      z.object({ kind: z.literal('given'), widgetType: z.string(), dataQueries: WidgetBindings }),
    ]),
    /** The page's state, which the templates in the inputs of the widget's queries read. */
    state: JsonObject,
    /** Whether to bypass the cache. */
    isFresh: z.boolean(),
  }),
  response: WidgetAnswer,
  timeoutMs: 35_000,
  maxConcurrent: { tenant: 8 },
});
