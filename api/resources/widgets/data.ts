import type { z } from 'zod';
import { WidgetBindings } from '#shared/apps/widgets/bindings.ts';
import type { Caller } from '#shared/core/caller.ts';
import { type AppError, toAppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import { invalid, within } from '#shared/core/schema/issues.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import { Widget } from '#shared/entities/tables/widget.ts';
import { widgetData } from '#shared/messaging/queues/widget-data.ts';
import type { RPC } from '#shared/messaging/rpc.ts';
import { tenantRoute } from '../../context/routes.ts';
import { reportError } from '../../http/response/report-error.ts';
import { bindingAccess } from './config.ts';
import { DataQuery, FreshQuery, WidgetData, WidgetDataBulk, WidgetDataRequest, WidgetsData } from './data-schemas.ts';
import { noWidget } from './find.ts';
import { WidgetID } from './schemas.ts';

const message = 'Widget data';

export const readWidgetData = tenantRoute({
  name: 'getWidgetData',
  method: 'get',
  path: '/widgets/:widgetID/data',
  summary: 'Get the data of a widget',
  description:
    'Runs the queries of a widget and shapes their results for its type. A query that fails is named in `bindings` and leaves the others. Who may execute the widget needs no permission on its queries.',
  permission: 'widget.execute',
  object: ({ params }) => `widget:${params.widgetID}`,
  params: WidgetID,
  query: DataQuery,
  response: WidgetData,
  isPrivate: true,
  errors: ['409', '504'],

  async handle(
    { params: { widgetID }, query: { fresh, state }, tenantID, caller, signal },
    { messaging: { producer } },
  ) {
    const requester = { tenantID, caller, signal, producer };
    return {
      ...(await requestData(requester, { widget: { kind: 'stored', widgetID }, state, isFresh: fresh })),
      message,
    };
  },
});

export const readGivenWidgetData = tenantRoute({
  name: 'getWidgetDataByConfig',
  method: 'post',
  path: '/widgets/data',
  summary: 'Get the data of a widget that is not stored',
  description: 'Runs the queries that a config binds, and shapes their results. Nothing is stored or reused.',
  access: ({ body: { widgetConfig } }) => [
    { permission: 'widget.execute', object: 'widget:*' },
    ...bindingAccess({ dataQueries: widgetConfig?.dataQueries ?? [] }),
  ],
  takesData: true,
  body: WidgetDataRequest,
  response: WidgetData,
  isPrivate: true,
  idempotent: false,
  errors: ['409', '504'],

  async handle(
    { body: { widgetType = '', widgetConfig = {}, state }, tenantID, caller, signal },
    { messaging: { producer } },
  ) {
    const bindings = parseValue(WidgetBindings, widgetConfig.dataQueries ?? []);
    if (!bindings.success)
      throw invalid(within(['widgetConfig', 'dataQueries'], bindings.issues), { count: bindings.count });
    const widget = { kind: 'given', widgetType, dataQueries: bindings.data } as const;
    return {
      ...(await requestData({ tenantID, caller, signal, producer }, { widget, state, isFresh: false })),
      message,
    };
  },
});

/** Widgets of one request that are read at once, so that other requests of the tenant get workers in between. */
const AT_ONCE = 4;

export const readManyWidgetData = tenantRoute({
  name: 'getWidgetsData',
  method: 'post',
  path: '/widgets/data/bulk',
  summary: 'Get the data of many widgets',
  description:
    'Answers for each widget, in the order of the request, with its data or with an error: NOT_FOUND also for a widget that the caller may not execute.',
  permission: 'widget.execute',
  filter: true,
  query: FreshQuery,
  takesData: true,
  body: WidgetDataBulk,
  response: WidgetsData,
  isPrivate: true,
  idempotent: false,

  async handle({ query: { fresh }, body, em, tenantID, caller, signal, log, visible }, { messaging: { producer } }) {
    const ids = [...new Set(body.widgets.map(({ widgetID }) => widgetID))];
    const found = await em.find(Widget, { id: { $in: ids }, ...(await visible('widget.execute')) }, { fields: ['id'] });
    const known = new Set(found.map(({ id }) => id));
    const requester = { tenantID, caller, signal, log, producer };
    const answers = new Array<ItemAnswer>(body.widgets.length);
    const remaining = body.widgets.entries();
    const work = async () => {
      for (const [at, { widgetID, state = body.state }] of remaining) {
        const payload = { widget: { kind: 'stored', widgetID }, state, isFresh: fresh } as const;
        answers[at] = known.has(widgetID)
          ? await answerItem(requester, widgetID, payload)
          : failed(widgetID, noWidget());
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return { widgets: answers, message };
  },
});

type ItemAnswer = z.input<typeof WidgetsData>['widgets'][number];

async function answerItem(
  requester: Requester & { log: Logger },
  widgetID: string,
  payload: DataRequest,
): Promise<ItemAnswer> {
  try {
    requester.signal.throwIfAborted();
    return { widgetID, ...(await requestData(requester, payload)), error: null };
  } catch (error) {
    const known = toAppError(error);
    if (known.status >= 500) reportError(requester.log, known, { widgetID });
    return failed(widgetID, known);
  }
}

function failed(widgetID: string, { code, message: why }: AppError): ItemAnswer {
  return { widgetID, widgetData: null, bindings: [], error: { code, message: why } };
}

interface Requester {
  tenantID: string;
  caller: Caller;
  signal: AbortSignal;
  producer: Pick<RPC, 'request'>;
}

interface DataRequest {
  widget: z.input<typeof widgetData.request>['widget'];
  state: JsonObject;
  isFresh: boolean;
}

function requestData({ tenantID, caller, signal, producer }: Requester, payload: DataRequest) {
  return producer.request(widgetData, { tenantID, caller, ...payload }, { signal, limitKeys: { tenant: tenantID } });
}
