import { expect, test } from 'vitest';
import { sse } from '#shared/datasources/types/sse.ts';
import { openDatasource } from '#test/support/connector.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { createOutbound } from '#workers/outbound/gate.ts';

test('a datasource of server-sent events is tested by a request with its headers', async () => {
  await using server = await startHTTP((request, response) => {
    const { url = '', headers } = request;
    if (headers['x-key'] !== 'k') return void response.writeHead(401).end();
    if (url === '/redirect') return void response.writeHead(302, { location: '/events' }).end();
    response.writeHead(200, { 'content-type': url === '/events' ? 'text/event-stream' : 'text/html' }).flushHeaders();
  });
  const tryOut = async (path: string, value = 'k', more = {}) => {
    const options = { url: `${server.origin}${path}`, headers: [{ key: 'X-Key', value }] };
    await using datasource = await openDatasource(sse, options, more);
    await datasource.test();
  };

  await tryOut('/events');
  await expect(tryOut('/events', 'wrong')).rejects.toMatchObject({ details: { reason: 'authentication' } });
  await expect(tryOut('/page')).rejects.toThrow('no server-sent events');
  await expect(tryOut('/redirect')).rejects.toThrow('status 302');
  await expect(tryOut('/events', 'k', { outbound: createOutbound({ allow: [] }) })).rejects.toMatchObject({
    details: { reason: 'not-allowed' },
  });
});
