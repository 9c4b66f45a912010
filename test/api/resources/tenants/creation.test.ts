import { expect, test } from 'vitest';
import { startCluster } from '#test/support/cluster.ts';
import { anOperator } from '#test/support/factories.ts';

test('with TENANT_CREATION=operators, only users with the address of an operator create tenants', async () => {
  await using cluster = await startCluster({ workers: false, settings: { TENANT_CREATION: 'operators' } });
  const operator = await anOperator(cluster);
  const create = (email: string) => cluster.as({ email }).post('/api/v1/tenants', { tenantTitle: 'Acme' });

  expect(await create('ada@example.com')).toMatchObject({
    status: 403,
    body: { error: { code: 'PERMISSION_DENIED' } },
  });
  expect(await create(operator.email.toUpperCase())).toMatchObject({ status: 201 });

  await cluster.pool.query('update operator set is_disabled = true');
  expect(await create(operator.email)).toMatchObject({ status: 403 });

  await cluster.pool.query('update operator set is_disabled = false');
  await cluster.pool.query('update app_user set email_verified_at = null');
  await cluster.pool.query("update app_user set email = 'other@example.com' where email <> 'ada@example.com'");
  expect(await create('ada@example.com'), 'of nobody').toMatchObject({ status: 403 });
});
