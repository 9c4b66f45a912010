import { expect, test } from 'vitest';
import { z } from 'zod';
import { tenantRoute, userRoute } from '#api/context/routes.ts';
import { migrateAll } from '#ops/migrate-all.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { testLogger } from '#test/support/environment.ts';
import { startOwnPostgres } from '#test/support/own-postgres.ts';
import { eventually } from '#test/support/settle.ts';
import { startSmallApi } from '#test/support/small-api.ts';

const routes = [
  userRoute({
    name: 'getCurrentUser',
    method: 'get',
    path: '/api/v1/whoami',
    summary: 'Who',
    description: 'Who.',
    response: z.object({}),
    handle: async () => ({}),
  }),
  tenantRoute({
    name: 'countWorkflows',
    method: 'get',
    path: '/workflows',
    summary: 'Count',
    description: 'Count.',
    permission: 'workflow.list',
    response: z.object({ n: z.int() }),
    handle: async ({ em }) => ({ n: await em.count(Workflow, {}) }),
  }),
];

test('answers 503 while Postgres is unreachable, and serves requests once it is back', async () => {
  await using resources = new AsyncDisposableStack();
  const { postgres } = resources.use(await startOwnPostgres());
  const config = readConfig({ NODE_ENV: 'test', DATABASE_URL: postgres.url });
  await using backplane = await createBackplane(config.backplane, testLogger);
  await migrateAll(config, backplane, testLogger);
  const api = resources.use(await startSmallApi(routes, { DATABASE_URL: postgres.url }));
  const ada = await api.as('ada@example.com');
  const { tenantID, path } = await api.tenant(ada);
  await api.grant(tenantID, { subject: ada.userID, object: '*', action: '*' });
  expect((await ada.send('GET', `${path}/workflows`)).status).toBe(200);

  await postgres.kill9();

  for (const where of ['/api/v1/whoami', `${path}/workflows`]) {
    const answer = await ada.send('GET', where);
    expect(answer).toMatchObject({ status: 503, body: { success: false, error: { code: 'UNAVAILABLE' } } });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }
  expect((await api.send('GET', '/health')).status).toBe(200);
  expect((await api.send('GET', '/ready')).body).toMatchObject({ success: false, checks: { postgres: 'is away' } });

  await postgres.restart();
  await eventually(async () => expect((await ada.send('GET', `${path}/workflows`)).status).toBe(200));
  expect((await api.send('GET', '/ready')).status).toBe(200);
});
