import { currentReservation } from '#shared/concurrency/work-context.ts';
import { AppError, toAppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import { storable } from '#shared/db/storable.ts';
import type { RunError } from '#shared/workflow/run-error.ts';
import { retryAfterOf } from '../datasources/http/status.ts';
import type { TenantVariables } from '../nodes/variables.ts';
import { createOutboundFetch } from '../outbound/fetch.ts';
import type { Outbound } from '../outbound/gate.ts';
import { signWebhook, webhookKeyOf } from './sign-webhook.ts';

/** Time that a receiver has to answer. */
const ANSWER_MS = 15_000;
/** Bytes of a response that are read. */
const MAX_ANSWER_BYTES = 2_000;
/** Characters of a response that the history shows. */
const MAX_ANSWER = 500;

/** A delivery whose next attempt this process makes, with the run that has ended. */
export interface Claimed {
  id: string;
  instance_id: string;
  tenant_id: string;
  workflow_id: string;
  url: string;
  secret: string;
  tries: number;
  tries_since_asked: number;
  version_id: string;
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED';
  origin: string | null;
  error: RunError | null;
  output: Json;
  is_omitted: boolean;
  created_at: Date;
  started_at: Date | null;
  completed_at: Date;
}

/** The outcome of an attempt. */
export interface Attempt {
  /** Status of the answer; null if there was none. */
  status: number | null;
  durationMs: number;
  /** The beginning of the answer. */
  response: string | null;
  error: string | null;
  retryAfterSeconds?: number;
}

export interface Sender extends AsyncDisposable {
  /** Never rejects: what went wrong is the outcome of the attempt. */
  send(delivery: Claimed, signal: AbortSignal): Promise<Attempt>;
}

/** Sends signed messages to receivers that tenants name, through the gate. A redirect is an answer like any other. */
export function createSender({
  outbound,
  variables,
}: {
  outbound: Outbound;
  variables: Pick<TenantVariables, 'read'>;
}): Sender {
  const fetch = createOutboundFetch(outbound, { maxBytes: MAX_ANSWER_BYTES, cuts: true });

  async function keyOf({ tenant_id: tenantID, secret: name }: Claimed): Promise<Buffer> {
    const variable = (await variables.read(tenantID, [name])).get(name);
    if (!variable?.isSecret) throw new AppError('NOT_FOUND', `There is no secret variable "${name}"`);
    const key = webhookKeyOf(variable.open());
    if (!key)
      throw new AppError('VALIDATION_ERROR', `The secret "${name}" must be whsec_ and 24 to 64 bytes in base64`);
    return key;
  }

  async function post(delivery: Claimed, signal: AbortSignal): Promise<Omit<Attempt, 'durationMs'>> {
    const key = await keyOf(delivery);
    const body = bodyOf(delivery);
    await currentReservation()?.reserve(body.length);
    const timestamp = Math.floor(Date.now() / 1000);
    const headers = {
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'webhook-id': delivery.id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signWebhook(key, { id: delivery.id, timestamp, body }),
    };
    const request = { url: new URL(delivery.url), method: 'POST', headers, body, followRedirects: false };
    const response = await fetch(request, signal);
    const retryAfter = retryAfterOf(response);
    return {
      status: response.status,
      response: storable(response.body.toString('utf8').slice(0, MAX_ANSWER)),
      error: null,
      ...(retryAfter !== undefined && { retryAfterSeconds: retryAfter / 1000 }),
    };
  }

  return {
    async send(delivery, signal) {
      const began = performance.now();
      const timeout = AbortSignal.timeout(ANSWER_MS);
      const sent = await post(delivery, AbortSignal.any([signal, timeout])).catch((error: unknown) => ({
        status: null,
        response: null,
        error: explain(error, signal.aborted, timeout.aborted),
      }));
      return { ...sent, durationMs: Math.round(performance.now() - began) };
    },
    [Symbol.asyncDispose]: () => fetch[Symbol.asyncDispose](),
  };
}

function explain(error: unknown, isStopped: boolean, isLate: boolean): string {
  if (isStopped) return 'The worker was stopped during the attempt';
  if (isLate) return `There was no answer within ${ANSWER_MS / 1000} s`;
  return storable(toAppError(error).message.slice(0, 1_000));
}

const types = {
  COMPLETED: 'workflow.run.completed',
  FAILED: 'workflow.run.failed',
  CANCELLED: 'workflow.run.cancelled',
} as const;

/** Body of the message. It is the same at every attempt, since a run that has ended does not change. */
function bodyOf(delivery: Claimed): string {
  const { status, error, output, is_omitted: isOmitted } = delivery;
  return JSON.stringify({
    type: types[status],
    timestamp: delivery.completed_at.toISOString(),
    data: {
      instanceID: delivery.instance_id,
      workflowID: delivery.workflow_id,
      versionID: delivery.version_id,
      status,
      origin: delivery.origin ?? 'direct',
      output,
      ...(isOmitted && { outputOmitted: true }),
      error,
      createdAt: delivery.created_at.toISOString(),
      startedAt: delivery.started_at?.toISOString() ?? null,
      completedAt: delivery.completed_at.toISOString(),
    },
  });
}
