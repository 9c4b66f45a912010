/**
 * `npm run rotate-secrets`: seals every stored secret with the first key of SECRETS_KEYS. Every process must know that key
 * before (`ops/guides/secrets.md`). It may be broken off and run again. When it ends with code 0, nothing stored needs
 * the other keys any more. With `--report` it changes nothing, and lists the secrets that no key opens. Without DATABASE_URL it works on the embedded Gantry of this folder, while that runs.
 */

import type { KeyRing } from '#shared/core/key-ring.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { requireSchema } from '#shared/entities/schema.ts';
import { readConfig } from '#shared/process/config.ts';
import { openKeyRing } from '#shared/process/open-key-ring.ts';
import { describeFailure } from '#shared/process/start-failure.ts';
import { findUnreadable } from '#shared/process/unreadable-secrets.ts';
import { commandEnvironment } from './embedded/command-environment.ts';
import { rotateAllSecrets } from './rotate-all-secrets.ts';

try {
  await main({ isReport: readArguments(process.argv.slice(2)) });
} catch (error) {
  console.error(describeFailure(error));
  process.exitCode = 1;
}

async function main({ isReport }: { isReport: boolean }): Promise<void> {
  const config = readConfig(await commandEnvironment());
  const logger = createLogger(config.log, { process: 'rotate-secrets' });
  if (config.secrets.keys.length === 0) throw new Error('Configuration: SECRETS_KEYS is not set');
  await using resources = new AsyncDisposableStack();
  const pool = createPool(config.db, logger, { max: 1, name: 'gantry.rotate-secrets' });
  resources.defer(() => pool.end());
  await requireSchema(pool, logger);
  const secrets = await openKeyRing(config.secrets.keys, pool);
  if (isReport) return await report(pool, secrets);
  const { resealed, failed } = await rotateAllSecrets(pool, { secrets, logger });
  logger.info({ keyID: secrets.newestID, resealed, failed }, 'all stored secrets have been visited');
  if (failed > 0) process.exitCode = 1;
}

function readArguments(args: readonly string[]): boolean {
  const unknown = args.find((arg) => arg !== '--report');
  if (unknown !== undefined) throw new Error(`Usage: npm run rotate-secrets [-- --report], received ${unknown}`);
  return args.length > 0;
}

/** Lists the secrets that no key opens, one a line. Ends with code 1 if there are any. */
async function report(pool: Pool, secrets: KeyRing): Promise<void> {
  const counts = new Map<string, number>();
  for await (const { column, id, tenantID, path, keyID } of findUnreadable(pool, secrets)) {
    counts.set(column.kind, (counts.get(column.kind) ?? 0) + 1);
    const field = path.length > 0 ? ` ${path.join('.')}` : '';
    const owner = tenantID === null ? '' : `, tenant ${tenantID}`;
    console.log(`${column.kind} ${id}${field}${owner}: sealed with the key ${keyID}`);
  }
  console.log(
    counts.size === 0
      ? 'Every stored secret can be opened.'
      : 'Save each of them again, or put the keys back (SECRETS_KEYS). Passwords of tenant databases are replaced at the next use.',
  );
  if (counts.size > 0) process.exitCode = 1;
}
