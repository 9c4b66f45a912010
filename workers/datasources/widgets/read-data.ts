import type { z } from 'zod';
import type { WidgetBinding } from '#shared/apps/widgets/bindings.ts';
import { findWidgetType } from '#shared/apps/widgets/index.ts';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { BindingOutcome, widgetData } from '#shared/messaging/queues/widget-data.ts';
import { resolveTemplates } from '#shared/workflow/resolve-config.ts';
import { knownError } from '../../outbound/upstream-error.ts';
import type { Queries } from '../queries/queries.ts';
import type { LoadedWidget } from './load-widget.ts';
import { join, type Part, partOf } from './shapes.ts';

interface Context {
  queries: Queries;
  logger: Logger;
}

type WidgetRequest = z.output<typeof widgetData.request> & { signal: AbortSignal };

/** Queries of one widget at once: each occupies a connection to a server of the tenant. */
const AT_ONCE = 4;
/** Time for all queries of a widget together. Queries that are then still running are stopped and fail; the results of others stay. */
const MAX_MS = 30_000;

/** Runs the queries of a widget and shapes their results. A query that fails does not affect the others. */
export async function readData(
  context: Context,
  widget: LoadedWidget,
  request: WidgetRequest,
): Promise<z.input<typeof widgetData.response>> {
  const timeout = AbortSignal.timeout(MAX_MS);
  const signal = AbortSignal.any([request.signal, timeout]);
  const read = new Array<Read>(widget.bindings.length);
  const remainingBindings = widget.bindings.entries();
  const work = async () => {
    // Several calls of this function share the iterator: each takes the next binding.
    for (const [index, binding] of remainingBindings)
      read[index] = await readBinding(context, widget, binding, { ...request, signal, timeout });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  request.signal.throwIfAborted();
  const { shape } = shapeOf(widget);
  const widgetAnswer = join(
    shape,
    read.map(({ part }) => part),
  );
  return { widgetData: widgetAnswer, bindings: read.map(({ outcome }) => outcome) };
}

interface Read {
  part: Part | null;
  outcome: BindingOutcome;
}

async function readBinding(
  { queries, logger }: Context,
  widget: LoadedWidget,
  binding: WidgetBinding,
  { tenantID, caller, state, isFresh, signal, timeout }: WidgetRequest & { timeout: AbortSignal },
): Promise<Read> {
  const { dataQueryID, title, parameters, datasetFields } = binding;
  const began = performance.now();
  const outcome = { dataQueryID, title, rowCount: null, truncated: false, isCached: false };
  try {
    signal.throwIfAborted();
    const answer = await queries.run({
      tenantID,
      caller,
      query: { kind: 'stored', dataQueryID },
      inputs: inputsOf(binding, state),
      mode: 'run',
      isFresh,
      isPaged: false,
      idempotencyKey: null,
      isDryRun: false,
      reuse: widget.reuse,
      signal,
    });
    const { dataQueryResult: result, rowCount = null, truncated = false, isCached, durationMs } = answer;
    const { shape, columns } = shapeOf(widget);
    const part = partOf(shape, columns, { title, parameters, datasetFields, result });
    return { part, outcome: { ...outcome, rowCount, truncated, isCached, durationMs, error: null } };
  } catch (error) {
    const known = timeout.aborted ? tooSlow(error) : knownError(error);
    if (known.code === 'INTERNAL_ERROR') logger.error({ err: error }, 'a query of a widget failed unexpectedly');
    const { code, message } = known;
    const durationMs = Math.round(performance.now() - began);
    return { part: null, outcome: { ...outcome, durationMs, error: { code, message } } };
  }
}

function inputsOf({ inputValues, dataQueryArgValues }: WidgetBinding, state: JsonObject): JsonObject {
  const filled = resolveTemplates(inputValues ?? dataQueryArgValues ?? {}, state, { root: 'state' });
  return isJsonObject(filled) ? filled : {};
}

function shapeOf({ widgetType }: LoadedWidget) {
  return findWidgetType(widgetType) ?? ({ shape: 'raw', columns: [] } as const);
}

function tooSlow(cause: unknown): AppError {
  const message = `The data of the widget took longer than ${MAX_MS / 1000} s, and this query was stopped`;
  return new AppError('UPSTREAM_TIMEOUT', message, { cause });
}
