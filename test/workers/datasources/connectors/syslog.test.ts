import { expect, test } from 'vitest';
import { syslog } from '#shared/datasources/types/syslog.ts';
import { openDatasource } from '#test/support/connector.ts';
import { requireOwnPort } from '#workers/datasources/connectors/syslog.ts';

test('a port of syslog belongs to one tenant', async () => {
  await using datasource = await openDatasource(syslog, { port: 5514 });
  await expect(datasource.test()).rejects.toThrow('port 5514 is not given to this tenant');

  const syslogPorts = new Map([[5514, 'one']]);
  expect(() => requireOwnPort(5514, { tenantID: 'one', syslogPorts })).not.toThrow();
  expect(() => requireOwnPort(5514, { tenantID: 'other', syslogPorts })).toThrow('not given to this tenant');
});
