import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { Json } from '#shared/core/json.ts';
import type { WebhookOptions } from '#shared/datasources/types/webhook.ts';
import type { ReadListener } from '#shared/triggers/listeners/listener-reader.ts';
import { webhook } from '#shared/triggers/listeners/types/webhook.ts';
import { tenantRoute } from '../../context/routes.ts';
import { acceptDelivery } from './accept.ts';
import { calledURL, PREFIX } from './called-url.ts';
import { openOptions } from './open-options.ts';
import { curlOf, signDelivery, type TestDelivery as TestedDelivery } from './sign-delivery.ts';
import { type Delivery, proofOf } from './signatures.ts';
import { TestDelivered, TestDelivery, TestDeliveryQuery, TestedListener } from './test-schemas.ts';

const MAX_ANSWER = 10_000;

export const sendTestDelivery = tenantRoute({
  name: 'sendTestDelivery',
  method: 'post',
  path: '/listeners/:listenerID/test-delivery',
  summary: 'Send a test delivery to a webhook',
  description:
    'Delivers a body to the listener as its sender would, signed as its datasource says, and returns the answer. It is an event as any other, with all actions. The command that does the same is in `curl`, without the secret.',
  permission: 'listener.execute',
  object: ({ params }) => `listener:${params.listenerID}`,
  params: TestedListener,
  query: TestDeliveryQuery,
  takesData: true,
  body: TestDelivery,
  response: TestDelivered,
  idempotent: false,
  errors: ['409', '429'],

  async handle({ params: { listenerID }, query: { preview }, body, tenantID, response, signal }, context) {
    const listener = await context.runs.ingestion.reader.byID(listenerID, tenantID);
    if (!listener) throw new AppError('NOT_FOUND', 'Listener not found');
    const options = webhookOptions(listener);
    const { protocol, host } = response.req;
    const called = { protocol, host, originalUrl: PREFIX + listener.id };
    const url = calledURL(called, options, context.config.console.publicURL);
    const delivery = deliveryOf(options, { url, ...body });
    const curl = curlOf(delivery, options);
    const prepared = { isAccepted: false, status: null, answer: '', eventID: null, url, curl };
    if (preview) return { ...prepared, message: 'Nothing was sent' };
    if (listener.status === 'inactive')
      throw new AppError('CONFLICT', 'The listener is inactive, and receives nothing: activate it first');
    const proof = signDelivery(delivery, options, { at: Date.now(), id: `test_${newID()}` });
    const sent = asReceived(delivery, proof);
    const { fault, ...proven } = proofOf(sent, options);
    if (fault !== null) throw new AppError('CONFLICT', `The delivery that was made is refused: ${fault}`);
    const { reply, eventID } = await acceptDelivery(
      context,
      {
        ...{ listener, params: {}, options, config: webhook.config.parse(listener.config), delivery: sent },
        sent: {
          path: PREFIX + listener.id,
          query: proof.query,
          rawHeaders: Object.entries(sent.headers).flat() as string[],
        },
        signed: 'signed' in proven ? proven.signed : null,
      },
      signal,
    );
    const { body: answered } = reply;
    const answer = Buffer.isBuffer(answered) ? answered.toString('utf8') : written(answered);
    return {
      ...prepared,
      ...{ isAccepted: reply.status < 300, status: reply.status, answer: answer.slice(0, MAX_ANSWER), eventID },
      message: 'The delivery was accepted',
    };
  },
});

/** The delivery that a sender would make; of several methods POST. */
function deliveryOf({ allowedMethods }: WebhookOptions, { url, body, headers }: Wanted): TestedDelivery {
  const given = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json';
  const hasType = given.some(([name]) => name === 'content-type');
  return {
    method: allowedMethods === 'ANY' ? 'POST' : allowedMethods,
    url,
    headers: hasType ? given : [['content-type', type], ...given],
    body: written(body === undefined ? { test: true, sentAt: new Date().toISOString() } : body),
  };
}

interface Wanted {
  url: string;
  body?: Json | undefined;
  headers: Readonly<Record<string, string>>;
}

function written(body: Json): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

/** Headers that prove the sender win over those of the same name that were given. */
function asReceived(
  { method, url, headers, body }: TestedDelivery,
  proof: { headers: [string, string][]; query: string },
): Delivery {
  const all = Object.fromEntries([...headers, ...proof.headers]);
  const query = new URLSearchParams(proof.query);
  return { method, headers: all, query, url: proof.query ? `${url}?${proof.query}` : url, body: Buffer.from(body) };
}

function webhookOptions(listener: ReadListener): WebhookOptions {
  if (listener.type !== webhook.type)
    throw new AppError('CONFLICT', `A listener of type ${listener.type} has no address to deliver to`);
  return openOptions(listener);
}
