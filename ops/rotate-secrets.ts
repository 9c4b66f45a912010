/**
 * `npm run rotate-secrets`: seals every stored secret with the first key of SECRETS_KEYS. Every process must know that key
 * before (`ops/guides/secrets.md`). It may be broken off and run again. When it ends with code 0, nothing stored needs
 * the other keys any more. Without DATABASE_URL it works on the embedded Gantry of this folder, while that runs.
 */

import { createKeyRing } from '#shared/core/key-ring.ts';
import { createLogger } from '#shared/core/logger.ts';
import { createPool } from '#shared/db/pool.ts';
import { requireSchema } from '#shared/entities/schema.ts';
import { readConfig } from '#shared/process/config.ts';
import { describeFailure } from '#shared/process/start-failure.ts';
import { commandEnvironment } from './embedded/command-environment.ts';
import { rotateAllSecrets } from './rotate-all-secrets.ts';

try {
  await main();
} catch (error) {
  console.error(describeFailure(error));
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const config = readConfig(await commandEnvironment());
  const logger = createLogger(config.log, { process: 'rotate-secrets' });
  const [newest] = config.secrets.keys;
  if (!newest) throw new Error('Configuration: SECRETS_KEYS is not set');
  await using resources = new AsyncDisposableStack();
  const pool = createPool(config.db, logger, { max: 1, name: 'gantry.rotate-secrets' });
  resources.defer(() => pool.end());
  await requireSchema(pool, logger);
  const { resealed, failed } = await rotateAllSecrets(pool, { secrets: createKeyRing(config.secrets.keys), logger });
  logger.info({ keyID: newest.id, resealed, failed }, 'all stored secrets have been visited');
  if (failed > 0) process.exitCode = 1;
}
