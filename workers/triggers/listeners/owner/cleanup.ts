import type { JsonObject } from '#shared/core/json.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import { openSecrets } from '#shared/core/schema/secret.ts';
import { findDatasourceType } from '#shared/datasources/types/index.ts';
import type { Pool } from '#shared/db/pool.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import type { ListenerReader } from '#shared/triggers/listeners/listener-reader.ts';
import { findListenerType } from '#shared/triggers/listeners/types/index.ts';
import type { OutboundServices } from '../../../datasources/connectors/outbound-services.ts';
import { sourceOf, sourceTypes } from '../sources/index.ts';
import type { CleanupContext, Source } from '../sources/source.ts';
import type { LiveListener } from './run-listener.ts';

/** Concurrent removals of this process. */
const AT_ONCE = 10;
/** Removals of one tenant among them, because its server may not answer. */
const OF_A_TENANT = 2;
const REMOVE_MS = 10_000;
/** Lease of a claimed row: longer than a removal takes. Meanwhile no owner connects the listener. */
const CLAIMED_SECONDS = 20;
const BACKOFF_SECONDS = { first: 5, most: 3_600 };
/** Attempts over about three days, by the pauses between them. */
const MAX_ATTEMPTS = 80;

interface Needs {
  pool: Pool;
  reader: ListenerReader;
  secrets: KeyRing;
  services: OutboundServices;
  /** Aborted when this worker stops. */
  signal: AbortSignal;
  logger: Logger;
}

/** A listener with the source of its events. */
export interface ConnectedListener {
  listener: LiveListener;
  source: Source;
}

interface RemoteResource {
  id: string;
  listenerID: string;
  tenantID: string;
  type: string;
  config: JsonObject;
  datasourceID: string;
  options: JsonObject;
  attempts: number;
}

/**
 * Cleans up remote resources of listeners that are deleted or inactive, such as a replication slot, for which a server retains its log.
 * The statement that deletes or deactivates a listener writes their rows, so it does not matter which worker owned the listener, if any.
 * Returns the number of rows that were due.
 */
export async function cleanUpRemoteResources(needs: Needs): Promise<number> {
  const { pool } = needs;
  const { rows } = await pool.query<RemoteResource>({
    name: 'listener_residues',
    text: CLAIM_REMOTE_RESOURCES,
    values: [AT_ONCE, OF_A_TENANT, CLAIMED_SECONDS, sourceTypes],
  });
  await Promise.all(rows.map((resource) => cleanUp(resource, needs)));
  return rows.length;
}

/** Names the remote resource of a listener, which stays at its server when the connection ends. Undefined: there is none. */
export function remoteResourceOf(
  { source, listener }: ConnectedListener,
  services: OutboundServices,
): string | undefined {
  return source.remoteResourceOf?.(cleanupContextOf(listener, services));
}

/** Removes the remote resource that an earlier configuration has named. */
export async function removeRemoteResource(
  { source, listener }: ConnectedListener,
  { services, logger }: Pick<Needs, 'services' | 'logger'>,
): Promise<void> {
  const context = cleanupContextOf(listener, services);
  if (source.remoteResourceOf?.(context) === undefined) return;
  await source
    .removeRemoteResource?.(context)
    .catch((error: unknown) =>
      logger.info({ err: error, listenerID: listener.id }, 'a listener has left something at its server'),
    );
}

function cleanupContextOf(
  { id: listenerID, tenantID, options, config }: LiveListener,
  services: OutboundServices,
): CleanupContext {
  return { listenerID, tenantID, options, config, services, signal: AbortSignal.timeout(REMOVE_MS) };
}

async function cleanUp(resource: RemoteResource, needs: Needs): Promise<void> {
  const { pool, logger } = needs;
  const { id, listenerID, attempts } = resource;
  try {
    await remove(resource, needs);
  } catch (error) {
    const isGivenUp = attempts >= MAX_ATTEMPTS;
    const words = isGivenUp ? 'a listener has left something at its server' : 'a listener left something for now';
    logger[isGivenUp ? 'warn' : 'debug']({ err: error, listenerID, attempts }, words);
    if (!isGivenUp) {
      const waitSeconds = Math.min(BACKOFF_SECONDS.first * 2 ** (attempts - 1), BACKOFF_SECONDS.most);
      await pool.query(POSTPONE, [id, waitSeconds]);
      return;
    }
  }
  await pool.query('delete from listener_residue where id = $1', [id]);
}

async function remove(resource: RemoteResource, { reader, secrets, services, signal: stopped }: Needs): Promise<void> {
  const { listenerID, tenantID, type, datasourceID } = resource;
  const source: Source = await sourceOf(type);
  const definition = findDatasourceType(type);
  const sealedFor = sealedColumns.residueOptions.context(datasourceID);
  const options = definition && openSecrets(definition.options, resource.options, { secrets, context: sealedFor });
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(REMOVE_MS)]);
  const context: CleanupContext = {
    ...{ listenerID, tenantID, services, signal },
    options: definition?.options.parse(options),
    config: findListenerType(type)?.config.parse(resource.config),
  };
  const name = source.remoteResourceOf?.(context);
  if (name === undefined) return;
  const current = await reader.byID(listenerID, tenantID);
  // The resource stays if the listener is active again and uses it. A listener that was stopped because of its creator keeps it, too:
  // it continues where it was when the creator has the permission again.
  if (current && current.status !== 'inactive') {
    const config = findListenerType(current.type)?.config.parse(current.config);
    if (source.remoteResourceOf?.({ ...context, options: current.options(), config }) === name) return;
  }
  await source.removeRemoteResource?.(context);
}

/** Skips locked rows: the database trigger locks those of a listener that is being made active. */
export const CLAIM_REMOTE_RESOURCES = `
with due as (
  select id, row_number() over (partition by tenant_id order by ready_at) as nth from listener_residue
  where ready_at <= now() and listener_type = any($4::text[])
),
picked as (
  select r.id from listener_residue r
  where r.id in (select id from due where nth <= $2 order by nth, id limit $1) and r.ready_at <= now()
  for update skip locked
)
update listener_residue r set attempts = attempts + 1, claimed_until = now() + make_interval(secs => $3),
  ready_at = now() + make_interval(secs => $3)
from picked where r.id = picked.id
returning r.id, r.listener_id as "listenerID", r.tenant_id as "tenantID", r.listener_type as type, r.listener_config as config,
  r.datasource_id as "datasourceID", r.datasource_options as options, r.attempts`;

const POSTPONE = `
update listener_residue set claimed_until = null, ready_at = now() + make_interval(secs => $2) where id = $1`;
