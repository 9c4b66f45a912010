import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import pino from 'pino';
import { expect, test } from 'vitest';
import { answerErrors } from '#api/http/errors.ts';
import { createRefusals } from '#api/http/refusals.ts';
import { requestID } from '#api/http/request-id.ts';
import { AppError, type ErrorCode } from '#shared/errors.ts';
import { createTenantLabel } from '#shared/tally.ts';

test.each([
  ['INVALID_API_KEY', 401],
  ['PERMISSION_DENIED', 403],
  ['RATE_LIMITED', 429],
] satisfies [ErrorCode, number][])(
  '%s is one line in the log, with the request and without its data',
  async (code, status) => {
    const lines: Record<string, unknown>[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) });
    const app = express();
    app.use(requestID);
    app.get('/thing', () => {
      throw new AppError(code, 'No', { cause: new Error('topsecret') });
    });
    app.use(answerErrors({ logger, refusals: createRefusals(createTenantLabel()) }));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;

    const answer = await fetch(`http://127.0.0.1:${port}/thing?token=topsecret`, {
      headers: { 'x-request-id': 'abc-1', authorization: 'Bearer topsecret' },
    });

    expect(answer.status).toBe(status);
    expect(lines).toMatchObject([{ level: 30, status, code, method: 'GET', path: '/thing', requestID: 'abc-1' }]);
    expect(JSON.stringify(lines)).not.toContain('topsecret');
    server.close();
  },
);
