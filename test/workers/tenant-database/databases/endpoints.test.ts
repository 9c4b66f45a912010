import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EmbeddedPostgres } from '#ops/embedded/postgres.ts';
import { certificates } from '#test/support/certificates.ts';
import { eventually } from '#test/support/settle.ts';
import { startTLSPostgres } from '#test/support/tls-postgres.ts';
import { openPostgresConnection } from '#workers/connections/postgresql/connection.ts';
import { dialOwn, endpointOfOwn } from '#workers/tenant-database/databases/endpoints.ts';

let dir: string;
let server: EmbeddedPostgres;
let watcher: pg.Client;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gantry-test-own-'));
  await writeFile(join(dir, 'authority.pem'), certificates.authority);
  server = await startTLSPostgres(dir);
  watcher = new pg.Client({ connectionString: server.url });
  await watcher.connect();
});
afterAll(async () => {
  await watcher?.end();
  await server?.[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

/** Connects as the owner of a created database, by the URL of the deployment. */
function open(url: string) {
  const { database, user, password } = server.connection;
  const endpoint = endpointOfOwn(url, { databaseName: database, roleName: user, password });
  return openPostgresConnection(endpoint, dialOwn, AbortSignal.timeout(5_000));
}

async function sleeping(): Promise<number> {
  const { rows } = await watcher.query(
    `select count(*)::int as n from pg_stat_activity where state = 'active' and query = 'select pg_sleep(300)'`,
  );
  return rows[0].n;
}

const at = (parameters: string, host = 'localhost') =>
  `postgres://deployment:other@${host}:${server.connection.port}/other${parameters}`;

test.each([
  ['', false],
  ['?sslmode=disable', false],
  ['?sslmode=no-verify', true],
  ['?ssl=true&sslrootcert=AUTHORITY', true],
  ['?sslmode=verify-full&sslrootcert=AUTHORITY', true],
])('the URL of the deployment decides how its server is reached: %s', async (parameters, ssl) => {
  const client = await open(at(parameters.replace('AUTHORITY', join(dir, 'authority.pem'))));

  const { rows } = await client.query('select ssl, current_user as name from pg_stat_ssl where pid = pg_backend_pid()');
  expect(rows).toEqual([{ ssl, name: server.connection.user }]);
  const asleep = client.query('select pg_sleep(300)').catch((error: unknown) => error);
  await eventually(async () => expect(await sleeping()).toBe(1));
  await client.cancel();
  expect(await asleep).toBeInstanceOf(Error);
  await eventually(async () => expect(await sleeping()).toBe(0));
});

test.each([
  ['a certificate of an unknown authority', '?sslmode=verify-full', 'localhost'],
  ['a certificate of another host', '?sslmode=verify-full&sslrootcert=AUTHORITY', '127.0.0.1'],
])('%s is refused', async (_what, parameters, host) => {
  const url = at(parameters.replace('AUTHORITY', join(dir, 'authority.pem')), host);

  await expect(open(url)).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', details: { reason: 'tls' } });
});

test('a Unix socket works, also for a cancel', async () => {
  const socket = createServer((inner) => {
    const outer = connect(server.connection.port, '127.0.0.1');
    inner.pipe(outer).pipe(inner);
    for (const one of [inner, outer]) one.on('error', () => undefined);
  });
  socket.listen(join(dir, '.s.PGSQL.5432'));
  await once(socket, 'listening');
  const client = await open(`postgres://deployment:other@/other?host=${encodeURIComponent(dir)}`);

  const asleep = client.query('select pg_sleep(300)').catch((error: unknown) => error);
  await eventually(async () => expect(await sleeping()).toBe(1));
  await client.cancel();

  expect(await asleep).toBeInstanceOf(Error);
  await eventually(async () => expect(await sleeping()).toBe(0));
  socket.close();
});
