import { readFile, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Answer, Input } from '../client/index.ts';
import type { Acting } from './acting.ts';
import { LossyNumber, parseExact } from './exact-json.ts';
import { Failed, UsageError } from './exit.ts';
import { stableJSON, tableOf } from './output.ts';
import type { Session } from './session.ts';

type Plan = Answer<'planImport'>;

export function bundleCommands(program: Command, acting: Acting): void {
  const bundles = program.command('bundles').description('moves assets between tenants: export, plan, apply');
  bundles
    .command('export <file>')
    .description('writes the assets of the tenant to a file')
    .option('--types <types>', 'of these types only, separated by commas')
    .action(acting(exportBundle));
  bundles
    .command('plan <file>')
    .description('says what applying a bundle would change')
    .option('--overwrite', 'also what was changed here since the last import')
    .action(acting(planBundle));
  bundles
    .command('apply <file>')
    .description('applies a bundle, or a plan that was shown before')
    .option('--overwrite', 'also what was changed here since the last import')
    .option('--plan <token>', 'only if the tenant is still as this plan found it')
    .addHelpText('after', '\nExample:\n  gantry bundles plan shop.json && gantry bundles apply shop.json')
    .action(acting(applyBundle));
}

async function exportBundle(session: Session, file: string, { types }: { types?: string }): Promise<void> {
  const body = (types ? { types: types.split(',') } : {}) as Input<'exportBundle'>['body'];
  const call = { path: session.path, ...(body && { body }) };
  const { bundle, unfollowed } = await session.gantry.call('exportBundle', call);
  await writeFile(file, stableJSON(bundle));
  session.note(`${bundle.items.length} assets in ${file}`);
  for (const { type, id, path, template } of unfollowed)
    session.note(`not followed: ${template}, which names a ${type} at ${path.join('.')} of ${id}`);
}

async function planBundle(session: Session, file: string, { overwrite }: { overwrite?: boolean }): Promise<void> {
  const plan = await session.gantry.call('planImport', { path: session.path, body: await bodyOf(file, overwrite) });
  session.show(plan, textOfPlan);
}

async function applyBundle(
  session: Session,
  file: string,
  { overwrite, plan }: { overwrite?: boolean; plan?: string },
): Promise<void> {
  const { gantry, path } = session;
  const body = await bodyOf(file, overwrite);
  const token = plan ?? (await gantry.call('planImport', { path, body })).token;
  const applied = await gantry.call('applyImport', { path, body: { ...body, token } });
  session.show(
    applied,
    ({ results, skipped, message }) => `${message}: ${results.length} applied, ${skipped.length} skipped`,
  );
  for (const warning of applied.warnings) session.note(warning);
  if (applied.skipped.length > 0) throw new Failed();
}

async function bodyOf(file: string, overwrite = false): Promise<Input<'planImport'>['body']> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new UsageError(`${file} cannot be read`);
  });
  try {
    // Safe: the service checks the bundle.
    return { bundle: parseExact(text) as never, onConflict: overwrite ? 'overwrite' : 'skip' };
  } catch (error) {
    throw new UsageError(error instanceof LossyNumber ? `${file}: ${error.message}` : `${file} is no JSON`);
  }
}

function textOfPlan({ items, summary, token }: Plan): string {
  const table = tableOf(items, [
    ['action', ({ action }) => action],
    ['type', ({ type }) => type],
    ['title', ({ title }) => title],
    ['changes', ({ changes }) => changes.map(({ path }) => path.join('.')).join(', ') || null],
    ['warnings', ({ warnings }) => warnings.join('; ') || null],
  ]);
  const { createCount, updateCount, unchangedCount, conflictCount, skipCount } = summary;
  const counts = `${createCount} to create, ${updateCount} to update, ${unchangedCount} unchanged, ${conflictCount} in conflict, ${skipCount} skipped`;
  return [table, '', counts, `plan ${token}`].join('\n');
}
