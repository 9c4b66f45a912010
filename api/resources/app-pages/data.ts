import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { currentFlow, withReservation } from '#shared/concurrency/work-context.ts';
import type { Caller } from '#shared/core/caller.ts';
import { AppError, toAppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { DataQuery } from '#shared/entities/tables/data-query.ts';
import { WidgetAnswer, widgetData } from '#shared/messaging/queues/widget-data.ts';
import type { ApiContext } from '../../context/context.ts';
import { tenantRoute } from '../../context/routes.ts';
import { reportError } from '../../http/response/report-error.ts';
import { bindingsOf, placedWidgetsOf } from '../../pages/bindings.ts';
import { DataQueryResponse } from '../../queries/answer.ts';
import { askWorker, getEnabled } from '../../queries/ask-worker.ts';
import { PageDataRequest } from './data-schemas.ts';
import { bindingOn } from './open-binding.ts';
import { creatorDenied, type OpenPage, openPage, requireNoDraft } from './open-page.ts';
import { readRuns } from './read-runs.ts';
import { AppPageID } from './schemas.ts';

/** Items of one request that are read at once, so that other requests of the tenant get workers in between. */
const AT_ONCE = 4;

export const readPageData = tenantRoute({
  name: 'getAppPageData',
  method: 'post',
  path: '/app-pages/:appPageID/data',
  summary: 'Get the data of an app page',
  description:
    'Runs queries that the page binds, and those of its widgets, and reads the runs that it binds, as the creator of the page, and answers with a line of JSON for each as soon as it has ended: `{"queryAlias", "answer"}` or `{"widgetKey", "answer"}`, with `error` in the place of `answer` for one that has failed. A slow one does not hold the others. The caller needs the permission to read the page.',
  permission: 'appPage.read',
  object: ({ params }) => `appPage:${params.appPageID}`,
  params: AppPageID,
  takesData: true,
  body: PageDataRequest,
  produces: 'application/jsonl',
  response: z.object({}),
  isPrivate: true,
  idempotent: false,
  errors: ['404', '409'],

  async handle({ params, body, em, tenantID, caller, signal, log, response }, context) {
    const open = await openPage({ em, tenantID, caller }, context, params.appPageID);
    requireNoDraft(open.page);
    const queries = await findQueries(em, open, body.queries);
    const reader = { open, queries, tenantID, viewer: caller, em, signal, context };
    const item = (about: Record<string, string>, read: () => Promise<object>) => () =>
      withOwnBytes(context, () => lineOf(about, { log, signal }, read));
    const work = [
      ...body.queries.map(({ queryAlias, inputValues }) =>
        item({ queryAlias }, () => readQuery(reader, queryAlias, inputValues)),
      ),
      ...body.widgets.map(({ widgetKey, state }) => item({ widgetKey }, () => readWidget(reader, widgetKey, state))),
    ];
    response.type('application/jsonl').set('x-content-type-options', 'nosniff').set('cache-control', 'no-store');
    // The generator itself, and no stream of it, which would read a line ahead of the response.
    await pipeline(asTheyEnd(work, signal), response, { signal });
    return {};
  },
});

interface Reader {
  open: OpenPage;
  queries: ReadonlyMap<string, DataQuery>;
  tenantID: string;
  viewer: Caller;
  em: EntityManager;
  signal: AbortSignal;
  context: ApiContext;
}

/** The wanted queries that the page binds, by their ids: one statement for all. */
async function findQueries(
  em: EntityManager,
  { page }: OpenPage,
  wanted: readonly { queryAlias: string }[],
): Promise<Map<string, DataQuery>> {
  const aliases = new Set(wanted.map(({ queryAlias }) => queryAlias));
  const bound = bindingsOf(page.appPageConfig).filter(({ type, alias }) => type === 'query' && aliases.has(alias));
  if (bound.length === 0) return new Map();
  const found = await em.find(DataQuery, { id: { $in: [...new Set(bound.map(({ id }) => id))] } });
  return new Map(found.map((query) => [query.id, query]));
}

async function readQuery(reader: Reader, alias: string, given: JsonObject) {
  const { open, queries, tenantID, signal, context } = reader;
  const isOfRuns = bindingsOf(open.page.appPageConfig).some((one) => one.alias === alias && one.type === 'runs');
  if (isOfRuns) return readRuns(reader, await bindingOn(open, { type: 'runs', alias, given }));
  const { id, inputs, caller } = await bindingOn(open, { type: 'query', alias, given });
  const query = queries.get(id);
  if (!query) throw new AppError('NOT_FOUND', 'The data query that the page binds is gone');
  const asked = { ...getEnabled(query), inputs, mode: 'run', isFresh: false } as const;
  const answer = await askWorker({ tenantID, caller, signal, producer: context.messaging.producer }, asked);
  return DataQueryResponse.parse(answer);
}

async function readWidget({ open, tenantID, signal, context }: Reader, widgetKey: string, state: JsonObject) {
  const placed = placedWidgetsOf(open.page.appPageConfig).find((one) => one.widgetKey === widgetKey);
  if (!placed) throw new AppError('NOT_FOUND', 'This page has no such widget');
  const { widgetID } = placed;
  if (!(await open.mayCreator('widget.execute', `widget:${widgetID}`))) throw creatorDenied('widget');
  const asked = { widget: { kind: 'stored', widgetID }, state, isFresh: false } as const;
  const answer = await context.messaging.producer.request(
    widgetData,
    { tenantID, caller: open.caller, ...asked },
    { signal, limitKeys: { tenant: tenantID } },
  );
  return WidgetAnswer.parse(answer);
}

/** A line, and the bytes that are reserved for it. */
interface Line extends Disposable {
  text: string;
}

/** Reserves the bytes of an item apart from those of the request, so that they are free again when its line is sent. */
async function withOwnBytes(context: ApiContext, read: () => Promise<string>): Promise<Line> {
  const flow = currentFlow();
  const bytes = context.requests.bytes.openReservation(flow);
  const release = () => bytes[Symbol.dispose]();
  try {
    return { text: await withReservation(flow, bytes, read), [Symbol.dispose]: release };
  } catch (error) {
    release();
    throw error;
  }
}

/** The line of an item: with its answer, or with the error that belongs to it alone. */
async function lineOf(
  about: Record<string, string>,
  { log, signal }: { log: Logger; signal: AbortSignal },
  read: () => Promise<object>,
): Promise<string> {
  try {
    return `${JSON.stringify({ ...about, answer: await read() })}\n`;
  } catch (error) {
    const known = toAppError(error);
    // An item that ends because its client has left has not failed.
    if (known.status >= 500 && !signal.aborted) reportError(log, known, about);
    const { code, message, status } = known;
    return `${JSON.stringify({ ...about, error: { code, message, status } })}\n`;
  }
}

/** Lines in the order in which their items end. The bytes of one are released when the next is asked for: it is with the response then. */
async function* asTheyEnd(work: readonly (() => Promise<Line>)[], signal: AbortSignal): AsyncGenerator<string> {
  const left = work.values();
  const running = new Map<object, Promise<{ key: object; line: Line }>>();
  const begin = () => {
    const { value: one, done } = left.next();
    if (done || signal.aborted) return;
    const key = {};
    running.set(
      key,
      one().then((line) => ({ key, line })),
    );
  };
  try {
    for (let n = 0; n < AT_ONCE; n += 1) begin();
    while (running.size > 0) {
      const { key, line } = await Promise.race(running.values());
      running.delete(key);
      using sent = line;
      begin();
      yield sent.text;
    }
  } finally {
    // The client has left: what is running ends by the signal.
    for (const one of running.values())
      one.then(
        ({ line }) => line[Symbol.dispose](),
        () => undefined,
      );
  }
}
