import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import pino from 'pino';
import { expect, test } from 'vitest';
import { createRefusals } from '#api/http/limits/refusals.ts';
import { requestID } from '#api/http/request/request-id.ts';
import { sendErrors } from '#api/http/response/errors.ts';
import { createTenantLabel } from '#shared/core/counter.ts';
import { AppError, type ErrorCode } from '#shared/core/errors.ts';

test.each([
  ['INVALID_API_KEY', 401],
  ['PERMISSION_DENIED', 403],
  ['RATE_LIMITED', 429],
] satisfies [ErrorCode, number][])(
  '%s is one line in the log, with the request and without its data',
  async (code, status) => {
    const { answer, lines } = await answerTo(new AppError(code, 'No', { cause: new Error('topsecret') }));

    expect(answer.status).toBe(status);
    expect(lines).toMatchObject([{ level: 30, status, code, method: 'GET', path: '/thing', requestID: 'abc-1' }]);
    expect(JSON.stringify(lines)).not.toContain('topsecret');
  },
);

test('a request that finds a server away is a short line that says why, because there may be very many', async () => {
  const cause = new Error('Connection terminated unexpectedly');

  const { answer, lines } = await answerTo(new AppError('UNAVAILABLE', 'The queue does not answer', { cause }));

  expect(answer.status).toBe(503);
  expect(lines).toMatchObject([{ level: 40, why: 'The queue does not answer: Connection terminated unexpectedly' }]);
  expect(JSON.stringify(lines[0]).length).toBeLessThan(400);
});

/** Asks a server whose handler throws this, and collects what it logs. */
async function answerTo(error: AppError): Promise<{ answer: Response; lines: Record<string, unknown>[] }> {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const app = express();
  app.use(requestID);
  app.get('/thing', () => {
    throw error;
  });
  app.use(sendErrors({ logger, refusals: createRefusals(createTenantLabel()) }));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const headers = { 'x-request-id': 'abc-1', authorization: 'Bearer topsecret' };
  const answer = await fetch(`http://127.0.0.1:${port}/thing?token=topsecret`, { headers });
  server.close();
  return { answer, lines };
}
