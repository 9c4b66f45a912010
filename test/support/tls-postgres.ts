import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EmbeddedPostgres, startPostgres } from '#ops/embedded/postgres.ts';
import { serviceUserFor } from '#ops/embedded/service-user.ts';
import { certificates } from './certificates.ts';

/** A Postgres that offers TLS with the tests' certificate, in this folder. */
export async function startTLSPostgres(dir: string): Promise<EmbeddedPostgres> {
  await chmod(dir, 0o711);
  // The server may run as another user, who must own its key.
  const user = await serviceUserFor(join(dir, 'postgres'), process.execPath);
  for (const [name, text] of [
    ['server.pem', certificates.server],
    ['server.key', certificates.serverKey],
  ] as const) {
    await writeFile(join(dir, name), text, { mode: 0o600 });
    await user.own(join(dir, name));
  }
  return startPostgres({
    dir: join(dir, 'postgres'),
    log: join(dir, 'log'),
    database: 'gantry',
    settings: {
      fsync: 'off',
      ssl: 'on',
      ssl_cert_file: join(dir, 'server.pem'),
      ssl_key_file: join(dir, 'server.key'),
    },
  });
}
