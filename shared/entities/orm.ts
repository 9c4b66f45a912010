import { Migrator } from '@mikro-orm/migrations';
import { type Dictionary, type EventSubscriber, MikroORM, UnderscoreNamingStrategy } from '@mikro-orm/postgresql';
import { AppError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { escapeLiteral } from '../db/escape-literal.ts';
import { reclaimLostConnections } from '../db/lost-connections.ts';
import type { DatabaseConfig } from '../db/pool.ts';
import { actorSubscriber } from './actor.ts';
import { migrations } from './migrations/index.ts';
import { entities } from './tables/index.ts';

export type { EntityManager } from '@mikro-orm/postgresql';

/** Opens the entity manager with a pool of its own. `schema.ts` checks the schema; entities are not discovered from disk. */
export async function createOrm(
  config: DatabaseConfig,
  logger: Logger,
  subscribers: EventSubscriber[] = [],
): Promise<MikroORM> {
  const orm = new MikroORM({
    clientUrl: config.url,
    entities,
    namingStrategy: Naming,
    pool: { min: 0, max: config.poolSize },
    extensions: [Migrator],
    subscribers: [actorSubscriber, ...subscribers],
    migrations: {
      migrationsList: migrations,
      snapshot: false,
      transactional: true,
      allOrNothing: true,
      tableName: 'schema_migration',
    },
    forceUtcTimezone: true,
    ignoreUndefinedInQuery: false,
    logger: (message) => logger.debug(message),
    debug: false,
  });
  Object.assign(orm.em.getPlatform(), { escapeLiteral });
  passOwnErrors(orm);
  reclaimLostConnections(await orm.em.getConnection().getNativeClient());
  return orm;
}

/** Passes our own errors on. The pool throws one if no connection is free, and the driver would wrap it in a DriverException, which is a 500. */
function passOwnErrors(orm: MikroORM): void {
  const converter = orm.em.getPlatform().getExceptionConverter();
  const convert = converter.convertException.bind(converter);
  Object.assign(converter, {
    convertException: (error: Error) => (error instanceof AppError ? error : convert(error as Error & Dictionary)),
  });
}

/** `tenantID` is `tenant_id`: the default strategy would write `tenant_i_d`. */
class Naming extends UnderscoreNamingStrategy {
  override propertyToColumnName(name: string): string {
    return super.propertyToColumnName(
      name
        .replace(/ID$/, 'Id')
        .replace(/ID(?=[A-Z])/g, 'Id')
        .replace(/URL$/, 'Url'),
    );
  }
}
