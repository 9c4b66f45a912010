import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createResponseEviction } from '#shared/db/idempotency.ts';
import { createEvents } from '#shared/runs/send-event.ts';
import { createSendEvent } from '#workers/triggers/listeners/actions/send-event.ts';
import { type Deployment, startDeployment } from '../../../../support/deployment.ts';
import { eventually } from '../../../../support/settle.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

test('the answers that are kept for repeated attempts count towards what their tenant may keep', async () => {
  const { pool, runs, tenantID } = deployment;
  const events = createEvents({ pool, runs, rights: { may: async () => true } });
  const faults: unknown[] = [];
  const answers = createResponseEviction(pool, (error) => void faults.push(error), {
    maxBytes: 1_000_000,
    maxRows: 32,
  });
  const send = createSendEvent({ events, answers });
  const listenerID = newID();
  const attempt = (eventID: string) =>
    send(
      { eventName: 'paid', eventKey: 'k', rememberMinutes: 0 },
      {
        ...{ tenantID, listenerID, eventID, actionID: listenerID, source: 'webhook', receivedAt: new Date() },
        event: {},
        caller: { type: 'user', id: listenerID, userID: listenerID, origin: 'listener' },
        awaitedBy: null,
        signal: new AbortController().signal,
      },
    );
  const storedAnswers = async () => {
    const text = 'select count(*)::int as n from idempotency where tenant_id = $1 and kept_bytes is not null';
    return (await pool.query<{ n: number }>(text, [tenantID])).rows[0]?.n;
  };
  await pool.query(
    `insert into idempotency (tenant_id, principal, route, key, request_hash, status, response, expires_at, kept_bytes)
     select $1, gen_random_uuid(), 'r', 'k', 'h', 200, '{}', now() + interval '1 hour', 10 from generate_series(1, 40)`,
    [tenantID],
  );

  const first = await attempt(newID());
  expect(first.result).toMatchObject({ eventID: expect.any(String), reached: 0 });
  await eventually(async () => expect(await storedAnswers()).toBe(32));
  const repeated = newID();
  const answer = await attempt(repeated);
  expect(await attempt(repeated)).toEqual(answer);
  expect(faults).toEqual([]);
});
