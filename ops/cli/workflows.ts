import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { type Acting, collected, wholeNumber } from './acting.ts';
import { LossyNumber, parseExact } from './exact-json.ts';
import { UsageError } from './exit.ts';
import { pushWorkflows } from './push.ts';
import { findByTitle, type Session } from './session.ts';
import { follow, type Waiting } from './watch.ts';
import { fileOf, folderName, writeWorkflow } from './workflow-files.ts';

export function workflowCommands(program: Command, acting: Acting): void {
  const workflows = program.command('workflows').description('lists, pulls, pushes and runs workflows');
  workflows
    .command('list', { isDefault: true })
    .description('lists workflows')
    .option('--search <text>', 'whose title has this text')
    .option('--limit <n>', 'at most so many', wholeNumber, 100)
    .action(acting(listWorkflows));
  workflows
    .command('pull [workflow...]')
    .description('writes workflows to a folder, one folder each; all without a title or an id')
    .option('--dir <folder>', 'where to', 'workflows')
    .addHelpText('after', '\nExample:\n  gantry workflows pull --dir workflows && git diff')
    .action(acting(pullWorkflows));
  workflows
    .command('push <workflow...>')
    .description(
      'saves workflows from their folders: by the id in the file, else by the title; new ones are created. A workflow is named by its folder, its title or its id',
    )
    .option('--dir <folder>', 'where those are that are named by title or id', 'workflows')
    .option('--draft', 'saves without publishing')
    .option('--dry-run', 'says what would be saved')
    .addHelpText(
      'after',
      '\nExamples:\n  gantry workflows push workflows/nightly-import\n  gantry workflows push "Nightly import"',
    )
    .action(acting(pushWorkflows));
  workflows
    .command('run <workflow>')
    .description('runs a workflow, named by its id or its title')
    .option('--args <json>', 'inputs as a JSON object, or @file')
    .option('--arg <name=value>', 'one input; what is no JSON is a text', collected)
    .option('--tag <tag>', 'a tag of the run', collected)
    .option('--watch', 'shows node by node what happens, until the run has ended')
    .option('--wait', 'waits until the run has ended')
    .option('--timeout <seconds>', 'how long to wait at most', wholeNumber)
    .addHelpText('after', runExamples)
    .action(acting(runWorkflow));
}

const runExamples = `
With --watch or --wait, the output of the run is on standard output, and the exit code is 1 unless the run has completed.

Examples:
  gantry workflows run "Nightly import" --watch
  gantry workflows run $ID --arg orderID=4711 --wait --timeout 60 > output.json`;

async function listWorkflows(session: Session, { search, limit }: { search?: string; limit: number }): Promise<void> {
  const query = search ? { search } : {};
  session.showRows(await session.list(limit, 'listWorkflows', { path: session.path, query }), [
    ['workflow', ({ id }) => id],
    ['title', ({ title }) => title],
    ['version', ({ versionNumber }) => versionNumber],
    ['state', ({ isDisabled, pausedAt }) => (isDisabled ? 'disabled' : pausedAt ? 'paused' : 'active')],
    ['updated', ({ updatedAt }) => updatedAt],
  ]);
}

async function pullWorkflows(session: Session, words: string[], { dir }: { dir: string }): Promise<void> {
  const ids = await Promise.all(words.map((word) => workflowNamed(session, word)));
  const taken = new Set<string>();
  for (const id of ids.length > 0 ? ids : await allIDs(session)) {
    const { workflow } = await session.gantry.call('getWorkflow', { path: { ...session.path, workflowID: id } });
    const file = fileOf(workflow);
    const name = folderName(file, taken);
    taken.add(name);
    await writeWorkflow(join(dir, name), file);
    session.note(`${join(dir, name)}  ${workflow.title}`);
  }
}

/** In the order of their ids, so that of two with the same title the same one has the plain name every time. */
async function allIDs(session: Session): Promise<string[]> {
  const workflows = await session.list(Number.POSITIVE_INFINITY, 'listWorkflows', { path: session.path });
  return workflows.map(({ id }) => id).toSorted();
}

interface RunOptions extends Waiting {
  args?: string;
  arg?: string[];
  tag?: string[];
}

async function runWorkflow(session: Session, word: string, options: RunOptions): Promise<void> {
  const path = { ...session.path, workflowID: await workflowNamed(session, word) };
  const args = { ...(await objectIn(options.args)), ...Object.fromEntries((options.arg ?? []).map(pairIn)) };
  const { instanceID } = await session.gantry.call('executeWorkflow', {
    path,
    body: { args, ...(options.tag && { tags: options.tag }) },
  });
  if (options.watch || options.wait) return follow(session, instanceID, options);
  session.show({ instanceID }, () => instanceID);
}

async function objectIn(text: string | undefined): Promise<Record<string, never>> {
  if (text === undefined) return {};
  const json = text.startsWith('@') ? await readFile(text.slice(1), 'utf8') : text;
  const value = objectFrom(json);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`--args: expected a JSON object, received ${json.slice(0, 80)}`);
  return value as Record<string, never>;
}

function objectFrom(json: string): unknown {
  try {
    return parseExact(json);
  } catch (error) {
    if (error instanceof LossyNumber) throw new UsageError(`--args: ${error.message}`);
    return undefined;
  }
}

function pairIn(text: string): [string, never] {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`--arg: expected name=value, received ${JSON.stringify(text)}`);
  // The service checks the inputs against those that the workflow declares.
  return [text.slice(0, at), valueIn(text.slice(at + 1)) as never];
}

/** JSON as a value; another text, or a number that is not held exactly, as it is. */
function valueIn(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

export function workflowNamed({ gantry, path }: Session, word: string): Promise<string> {
  return findByTitle(word, {
    kind: 'workflow',
    find: async (search) => (await gantry.call('listWorkflows', { path, query: { search, limit: 100 } })).workflows,
  });
}
