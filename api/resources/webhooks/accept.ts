import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import type { WebhookOptions } from '#shared/datasources/types/webhook.ts';
import type { NewEvent } from '#shared/triggers/listeners/event-recorder.ts';
import type { ReadListener } from '#shared/triggers/listeners/listener-reader.ts';
import { readOrderKey } from '#shared/triggers/listeners/order-key.ts';
import { requireUsable } from '#shared/triggers/listeners/require-usable.ts';
import { runIDOf } from '#shared/triggers/listeners/run-id.ts';
import type { WebhookConfig } from '#shared/triggers/listeners/types/webhook.ts';
import type { ApiContext } from '../../context/context.ts';
import { acknowledge, type Reply, replyOf, replyWithoutRun } from './answer.ts';
import { dedupOf } from './delivery-id.ts';
import { type EventFate, findFate } from './event-fate.ts';
import { credentialOf, type Delivery, type SignedParts, textOf } from './signatures.ts';

/** A delivery whose sender was checked. */
interface Proven {
  listener: ReadListener;
  params: JsonObject;
  options: WebhookOptions;
  config: WebhookConfig;
  /** With its body as it was before it was compressed. */
  delivery: Delivery;
  sent: Sent;
  signed: SignedParts | null;
}

/** Path, query and headers as they were received. */
interface Sent {
  path: string;
  query: string;
  rawHeaders: readonly string[];
}

type Receiving = Pick<ApiContext, 'pool' | 'runs'>;

interface Accepted {
  reply: Reply;
  eventID: string;
}

/** Checks the content and the quota, records the event, and answers. `left` is aborted when the sender has left. */
export async function acceptDelivery(context: Receiving, proven: Proven, left: AbortSignal): Promise<Accepted> {
  const { listener, params, config, delivery, sent } = proven;
  const { tenantID } = listener;
  const contentType = textOf(delivery.headers['content-type']);
  requireUsable({ params, query: sent.query, contentType, body: delivery.body });
  await requireCapacity(context, tenantID, delivery.body.length);
  const event = await eventOf(proven);
  const bound = config.answerMode === 'result' ? listener.actions.find(startsWorkflow) : undefined;
  if (bound) {
    const reply = await waitForRun({ context, left, listener, config, event, actionID: bound.id });
    return { reply, eventID: event.id };
  }
  const { eventID, duplicateOf } = await context.runs.ingestion.recorder.record(event);
  await context.runs.ingestion.deliveries.start({ tenantID });
  const ids = { listenerID: listener.id, eventID, ...(duplicateOf && { duplicateOf }) };
  return { reply: acknowledge(config, ids), eventID };
}

function startsWorkflow({ actionType }: { actionType: string }): boolean {
  return actionType === 'trigger_workflow';
}

/** A tenant at its limits is refused until some of its events are processed. */
async function requireCapacity({ runs: { ingestion } }: Receiving, tenantID: string, bytes: number): Promise<void> {
  const [events, ofBytes] = await Promise.all([
    ingestion.events.add(tenantID),
    ingestion.bytes.addMany(tenantID, Math.max(bytes, 1)),
  ]);
  const refusal = events ?? ofBytes.refusal;
  if (refusal) throw refusal;
}

async function eventOf({ delivery, sent, listener, params, options, config, signed }: Proven): Promise<NewEvent> {
  const { header, parameter } = credentialOf(options);
  const query = withoutCredential(delivery.query, parameter) ?? sent.query;
  const event = {
    id: newID(),
    tenantID: listener.tenantID,
    listenerID: listener.id,
    source: listener.type,
    method: delivery.method,
    path: sent.path,
    query,
    params,
    headers: shownHeaders(sent.rawHeaders, header),
    body: delivery.body,
  };
  const orderKey = await readOrderKey(config.orderBy, { ...event, receivedAt: new Date(), meta: null });
  return {
    ...event,
    ...(orderKey !== undefined && { orderKey }),
    dedup: await dedupOf(delivery, { options, config, signed }),
  };
}

const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie']);

/** The headers as they were sent, with names in lower case and without credentials. */
function shownHeaders(raw: readonly string[], credential: string | undefined): [string, string][] {
  const shown: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]?.toLowerCase() ?? '';
    shown.push([name, CREDENTIALS.has(name) || name === credential ? MASK : (raw[at + 1] ?? '')]);
  }
  return shown;
}

function withoutCredential(query: URLSearchParams, parameter: string | undefined): string | undefined {
  if (parameter === undefined || !query.has(parameter)) return undefined;
  const shown = new URLSearchParams(query);
  shown.set(parameter, MASK);
  return shown.toString();
}

interface Waiting {
  context: Receiving;
  /** Aborted when the sender has left. */
  left: AbortSignal;
  listener: ReadListener;
  config: WebhookConfig;
  event: NewEvent;
  actionID: string;
}

/** Records the event and waits for the run that it starts, or for that of the first delivery with its id. */
async function waitForRun({ context, left, listener, config, event, actionID }: Waiting): Promise<Reply> {
  const {
    pool,
    runs: { awaited: awaitedRuns, ingestion },
  } = context;
  const { tenantID } = listener;
  // Before the event is recorded, so that the end of the run cannot be missed.
  using own = awaitedRuns.expect({ tenantID, instanceID: runIDOf(event.id, actionID), untilParked: true });
  const { eventID, duplicateOf } = await ingestion.recorder.record({ ...event, awaitedBy: awaitedRuns.channel });
  const ids = { listenerID: listener.id, eventID, ...(duplicateOf && { duplicateOf }) };
  const started = { eventID: duplicateOf ?? eventID, tenantID, instanceID: runIDOf(duplicateOf ?? eventID, actionID) };
  const known = duplicateOf ? await findFate(pool, started) : undefined;
  if (known && !known.hasRun && known.state !== 'pending') return replyToFate(known, config, ids);
  using first = duplicateOf ? awaitedRuns.expect({ ...started, untilParked: true }) : undefined;
  first?.poll();
  const outcome = await (first ?? own).outcome(config.resultTimeoutSeconds * 1_000, left);
  const withRun = { ...ids, instanceID: started.instanceID };
  if (outcome && outcome.error?.code !== 'EVENT_FILTERED' && outcome.error?.code !== 'EVENT_FAILED')
    return replyOf(outcome, config, withRun);
  const fate = left.aborted ? undefined : await findFate(pool, started).catch(() => undefined);
  if (fate?.hasRun) return replyOf(undefined, config, withRun);
  return fate ? replyToFate(fate, config, ids) : replyOf(undefined, config, ids);
}

/** The answer to a delivery whose event has no run. */
function replyToFate(fate: EventFate, config: WebhookConfig, ids: JsonObject): Reply {
  if (fate.state === 'pending') return replyOf(undefined, config, ids);
  // An error would have the sender repeat what the listener does not want.
  return fate.state === 'dead' ? replyWithoutRun(fate, ids) : acknowledge(config, ids);
}
