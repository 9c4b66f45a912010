import { LockMode } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { onEntities } from '#shared/db/query.ts';
import { BundleImport } from '#shared/entities/tables/bundle-import.ts';
import type { Runs } from '#shared/runs/runs.ts';
import { tenantRoute } from '../../context/routes.ts';
import { findPage, pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { hashOf } from '../assets/hash.ts';
import { writeKeys } from '../assets/keys.ts';
import { kinds } from '../assets/kinds.ts';
import { readAssets } from '../assets/read-assets.ts';
import { importingBy } from '../import/import.ts';
import { noteProgress } from '../import/progress.ts';
import { freshIn, type Importing } from '../import/run-handler.ts';
import { type Change, lockImports } from '../import/run-import.ts';
import { removeItem, saveItem } from '../import/save-item.ts';
import { BundleImportRecord, RolledBack } from '../schemas.ts';
import { requireUnused } from './still-used.ts';

export const listImports = tenantRoute({
  name: 'listImports',
  method: 'get',
  path: '/import',
  summary: 'List imports',
  description: 'Returns the last 20 imports of bundles that have changed something, newest first.',
  permission: 'bundle.preview',
  query: z.object(pageQuery(standardPage)),
  response: z.object({ imports: z.array(BundleImportRecord), ...pageFields }).meta({ id: 'BundleImportPage' }),

  async handle({ query, em }) {
    const { rows, fields } = await findPage(em, BundleImport, { where: {}, query, exclude: ['changes'] });
    return { imports: rows.map(presentImport), ...fields };
  },
});

export const rollBackImport = tenantRoute({
  name: 'rollBackImport',
  method: 'post',
  path: '/import/:importID/rollback',
  summary: 'Roll back an import',
  description:
    'Deletes what an import has created and restores what it has changed, all or nothing. 409 if an asset was changed since, or if others use what the import has created: the answer names them. Secrets that the import has brought stay.',
  permission: 'bundle.execute',
  onWholeType: true,
  params: z.object({ importID: idOf('import') }),
  response: RolledBack,
  errors: ['409'],
  idempotent: 'transaction',

  async handle(input, context) {
    const { em, params, caller, tenantID } = input;
    const { runs, stopAll } = stoppingLast(context.runs);
    const importing = {
      ...importingBy(input, { ...context, runs: { ...context.runs, ...runs } }),
      isRollback: true as const,
    };
    await lockImports(input);
    const lockMode = LockMode.PESSIMISTIC_WRITE as const;
    const done = await em.findOne(BundleImport, { id: params.importID }, { lockMode });
    if (!done) throw new AppError('NOT_FOUND', 'Import not found');
    if (done.rolledBackAt) throw new AppError('CONFLICT', 'This import is rolled back already');
    // Safe cast: `runImport` has written them.
    const changes = (done.changes as unknown as Change[]).toReversed();
    await requireUnchanged(importing, changes);
    const [removed, restored] = [changes.filter(isCreated), changes.filter((change) => !isCreated(change))];
    const progress = { done: 0, total: changes.length };
    for (const change of restored) {
      await restore(importing, change);
      noteProgress({ ...progress, done: ++progress.done });
    }
    await requireUnused(importing, removed, done.createdAt);
    for (const { type, assetID, title } of removed) {
      await removeItem(importing, { type, id: assetID, title });
      noteProgress({ ...progress, done: ++progress.done });
    }
    const keys = restored.flatMap(({ keyBefore }) => keyBefore ?? []);
    const without = restored.filter(({ keyBefore }) => !keyBefore);
    for (const { assetID } of without)
      await onEntities(em)('delete from bundle_key where tenant_id = $1 and asset_id = $2', [tenantID, assetID]);
    await writeKeys(onEntities(em), tenantID, keys);
    em.assign(done, { rolledBackAt: new Date(), rolledBackBy: caller.userID ?? caller.id });
    await em.flush();
    await stopAll();
    return { removed: removed.length, restored: restored.length, message: 'Import rolled back' };
  },
});

/** Collects the runs of deleted workflows and stops them last: a stop is not undone if the transaction fails. */
function stoppingLast(runs: Runs): { runs: Runs; stopAll(): Promise<void> } {
  const stops = new Map<string, string>();
  return {
    runs: {
      ...runs,
      async stop(tenantID, instanceID) {
        stops.set(instanceID, tenantID);
        return null;
      },
    },
    async stopAll() {
      for (const [instanceID, tenantID] of stops) await runs.stop(tenantID, instanceID);
    },
  };
}

function isCreated({ before }: Change): boolean {
  return before === null;
}

/** Rejects the rollback if an asset was changed since the import: that change would be lost. */
async function requireUnchanged({ input: { em } }: Importing, changes: readonly Change[]): Promise<void> {
  const reading = { em: freshIn(em), bytes: 0, locks: true };
  for (const [type, ofType] of Map.groupBy(changes, (change) => change.type)) {
    const ids = ofType.map(({ assetID }) => assetID).sort();
    const assets = new Map((await readAssets(reading, type, ids)).map((asset) => [asset.id, asset]));
    for (const { assetID, title, hash } of ofType) {
      const asset = assets.get(assetID);
      if (asset && (await hashOf(asset.payload)) === hash) continue;
      const state = asset ? 'changed' : 'deleted';
      throw new AppError('CONFLICT', `The ${kinds[type].noun} "${title}" was ${state} since the import`);
    }
  }
}

async function restore(importing: Importing, { type, assetID: id, title, before }: Change): Promise<void> {
  if (before) await saveItem(importing, { type, id, payload: before, isNew: false, title, at: [] });
}

function presentImport(row: Omit<BundleImport, 'changes'>): z.input<typeof BundleImportRecord> {
  const { id, createdCount, updatedCount, creatorID } = row;
  return {
    ...{ id, importID: id, createdCount, updatedCount, creatorID },
    createdByApiKeyID: row.createdByApiKeyID ?? null,
    rolledBackAt: row.rolledBackAt?.toISOString() ?? null,
    rolledBackBy: row.rolledBackBy ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
