import type { z } from 'zod';
import { cooperative } from '#shared/concurrency/cooperative.ts';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json } from '#shared/core/json.ts';
import { changedPaths, type PathBudget, partOf } from '#shared/workflow/graph/changed-paths.ts';
import { createTogether } from '../../assets/created-together.ts';
import type { ApiContext } from '../../context/context.ts';
import { tenantRoute } from '../../context/routes.ts';
import { isAllowed } from '../../http/access/grant.ts';
import { hashOf } from '../assets/hash.ts';
import { kinds } from '../assets/kinds.ts';
import { presentUnfollowed } from '../assets/templated-ids.ts';
import { ApplyBody, ImportBody, Imported, Planned, type PlannedChange, Preview, type PreviewItem } from '../schemas.ts';
import { faultsOf } from './check-item.ts';
import { type Plan, type PlannedItem, planImport } from './plan-import.ts';
import type { ImportInput, Importing } from './run-handler.ts';
import { lockImports, runImport } from './run-import.ts';

const previewing = {
  permission: 'bundle.preview',
  takesData: true,
  body: ImportBody,
  hides: ['secrets', 'value'],
  // Repeating it changes nothing.
  idempotent: false,
} as const;

export const previewImport = tenantRoute({
  ...previewing,
  name: 'previewImport',
  method: 'post',
  path: '/import/preview',
  summary: 'Preview an import',
  description:
    'Says for each item of a bundle whether an import creates or updates an asset or changes nothing, whether the asset was changed here since the last import, and what is missing.',
  response: Preview,

  async handle(input, context) {
    const importing = importingBy(input, context);
    const plan = await planImport(importing, input.body, { locks: false });
    const items = [];
    let valid = true;
    for await (const item of cooperative(plan.items)) {
      const faults = await faultsOf(item);
      if (faults.length > 0) valid = false;
      items.push(presentItem(item, [...faults, ...(await denials(input, item))]));
    }
    return { valid, summary: summaryOf(plan), items, message: 'Import previewed' };
  },
});

export const planBundle = tenantRoute({
  ...previewing,
  name: 'planImport',
  method: 'post',
  path: '/import/plan',
  summary: 'Plan an import',
  description:
    'Returns what an import would change, value by value, and a token. `applyImport` with the token does this and nothing else.',
  response: Planned,

  async handle(input, context) {
    const plan = await planImport(importingBy(input, context), input.body, { locks: false });
    const items = [];
    const budget = { characters: MAX_PATHS };
    let valid = true;
    for await (const item of cooperative(plan.items)) {
      const hidden = await unreadable(input, item);
      const faults = await faultsOf(item);
      if (faults.length > 0) valid = false;
      const warnings = [...faults, ...(await denials(input, item)), ...hidden];
      items.push({ ...presentItem(item, warnings), changes: hidden.length > 0 ? [] : changesOf(item, budget) });
    }
    const token = await tokenOf(plan, input.body.onConflict);
    return { token, valid, summary: summaryOf(plan), items, message: 'Import planned' };
  },
});

const executing = { permission: 'bundle.execute', status: 201, response: Imported, errors: ['409'] } as const;

export const executeImport = tenantRoute({
  ...executing,
  name: 'executeImport',
  method: 'post',
  path: '/import/execute',
  summary: 'Import a bundle',
  description:
    'Creates and updates what a bundle holds, in one transaction, by the permissions of the caller to each. Repeated, it changes nothing more. Listeners and cron jobs arrive switched off.',
  takesData: true,
  body: ImportBody,
  hides: ['secrets', 'value'],
  idempotent: 'transaction',

  async handle(input, context) {
    const { importing, plan } = await planLocked(input, context);
    return execute(importing, plan, input.body.onConflict);
  },
});

export const applyImport = tenantRoute({
  ...executing,
  name: 'applyImport',
  method: 'post',
  path: '/import/apply',
  summary: 'Apply a planned import',
  description:
    'Imports a bundle as planned. 409 if the bundle or what it would change is not as it was when it was planned.',
  takesData: true,
  body: ApplyBody,
  hides: ['secrets', 'value'],
  idempotent: 'transaction',

  async handle(input, context) {
    const { importing, plan } = await planLocked(input, context);
    const { token, onConflict } = input.body;
    if ((await tokenOf(plan, onConflict)) !== token)
      throw new AppError(
        'CONFLICT',
        'The tenant or the bundle has changed since the import was planned: plan it again',
      );
    return execute(importing, plan, onConflict);
  },
});

/** Plans while no other import of the tenant runs, until the end of the transaction. */
async function planLocked(input: ImportInput & { body: ImportBody }, context: ApiContext) {
  const importing = importingBy(input, context);
  await lockImports(input);
  return { importing, plan: await planImport(importing, input.body, { locks: true }) };
}

export function importingBy(input: ImportInput, context: ApiContext): Importing {
  return { input, context, created: new Set() };
}

async function execute(importing: Importing, plan: Plan, onConflict: 'skip' | 'overwrite') {
  const { em, tenantID } = importing.input;
  const run = () => runImport(importing, plan, { onConflict });
  const { importID, isWritten, warnings } = await createTogether(em, tenantID, run);
  const leftOut = plan.items.filter(
    (item) => item.action === 'skip' || (item.action === 'conflict' && !isWritten(item)),
  );
  const isLeftOut = new Set(leftOut);
  const results = plan.items
    .filter((item) => !isLeftOut.has(item))
    .map(({ type, id, assetID, action }) => ({
      ...{ type, originalID: id, newID: assetID },
      action: action === 'conflict' ? ('update' as const) : (action as 'create' | 'update' | 'unchanged'),
    }));
  const skipped = leftOut.map((item) => ({ type: item.type, originalID: item.id, reason: reasonOf(item) }));
  const count = plan.items.filter(isWritten).length;
  return { importID, results, skipped, warnings, message: `${count} assets imported` };
}

function reasonOf({ action, type, known, missing, missingSecrets }: PlannedItem): string {
  if (action === 'conflict' && !known) return 'This tenant has another value under this name';
  if (action === 'conflict') return 'It was changed here since the last import';
  if (type === 'variable' && missingSecrets.length > 0) return 'Its secret is missing: `secrets` brings it';
  const named = missing.map(({ type, id }) => `${type} ${id}`).join(', ');
  return named === '' ? 'It needs an item that is skipped' : `It needs what is not here: ${named}`;
}

/** A token of a plan. Another plan, other assets or other items give another token. */
async function tokenOf({ items }: Plan, onConflict: string): Promise<string> {
  const details = items.map(
    ({ type, id, action, itemHash, asset, assetHash, missing, missingSecrets, references }) => ({
      ...{ type, id, action, itemHash, assetID: asset?.id ?? null, assetHash: assetHash ?? null },
      missing: missing.map((one) => `${one.type} ${one.id}`).sort(),
      missingSecrets: missingSecrets.map((path) => path.join('.')),
      references: references.length,
    }),
  );
  return hashOf({ details, onConflict });
}

function summaryOf({ items }: Plan): z.input<typeof Preview>['summary'] {
  const count = (action: PlannedItem['action']) => items.filter((item) => item.action === action).length;
  return {
    createCount: count('create'),
    updateCount: count('update'),
    unchangedCount: count('unchanged'),
    conflictCount: count('conflict'),
    skipCount: count('skip'),
    warningCount: items.reduce((sum, { warnings }) => sum + warnings.length, 0),
    missingDependencyCount: items.reduce((sum, { missing }) => sum + missing.length, 0),
    missingSecretCount: items.reduce((sum, { missingSecrets }) => sum + missingSecrets.length, 0),
  };
}

function presentItem(item: PlannedItem, denied: readonly string[]): z.input<typeof PreviewItem> {
  const { type, id, title, action, asset, missing, missingSecrets, warnings, unfollowed, tables } = item;
  return {
    ...{ type, id, title, action, assetID: asset?.id ?? null, warnings: [...warnings, ...denied] },
    missingDependencies: missing,
    missingSecrets: missingSecrets.map((path) => [...path]),
    unfollowed: unfollowed.map(presentUnfollowed),
    tables: [...tables],
  };
}

/** The permission that the item itself needs; those to what it names are checked when it is saved. */
async function denials(input: ImportInput, { type, action, assetID }: PlannedItem): Promise<string[]> {
  if (action === 'unchanged' || action === 'skip') return [];
  const { resource, noun } = kinds[type];
  const verb = action === 'create' ? 'create' : 'update';
  const object = `${resource}:${verb === 'create' ? '*' : assetID}`;
  // Every resource of a bundle has both actions.
  const mayDo = await isAllowed(input, { permission: `${resource}.${verb}` as 'widget.create', object });
  return mayDo ? [] : [`You may not ${verb} this ${noun}`];
}

/** A warning for a caller who may not read the present asset; its changes are then not shown. */
async function unreadable(input: ImportInput, { type, asset }: PlannedItem): Promise<string[]> {
  const { resource, noun, read: permission } = kinds[type];
  const isReadable = !asset || (await isAllowed(input, { permission, object: `${resource}:${asset.id}` }));
  return isReadable ? [] : [`You may not read this ${noun}: what would change is not shown`];
}

const MAX_SHOWN = 2_000;

/** Characters of the paths of all items; beyond them, larger values are named as a whole. */
const MAX_PATHS = 200_000;

function changesOf({ action, before, payload }: PlannedItem, budget: PathBudget): z.input<typeof PlannedChange>[] {
  if (action !== 'update' && action !== 'conflict') return [];
  return changedPaths(before ?? {}, payload, budget).map((path) => ({
    path,
    ...shown('before', valueAt(before ?? {}, path)),
    ...shown('after', valueAt(payload, path)),
  }));
}

function valueAt(value: Json, path: readonly (string | number)[]): Json | undefined {
  return path.reduce<Json | undefined>((at, key) => partOf(at, key), value);
}

/** A value to show; a long one is left out, since its path says enough. */
function shown(name: 'before' | 'after', value: Json | undefined): { before?: Json; after?: Json } {
  const isLong = isJsonObject(value) || Array.isArray(value) || (typeof value === 'string' && value.length > MAX_SHOWN);
  return value === undefined || isLong ? {} : { [name]: value };
}
