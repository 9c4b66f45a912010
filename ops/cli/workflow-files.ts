import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { components } from '../client/index.ts';
import { parseExact } from './exact-json.ts';
import { UsageError } from './exit.ts';
import { stableJSON } from './output.ts';

type Workflow = components['schemas']['Workflow'];

/** A workflow as it stands in `workflow.json`: what is saved, without what belongs to one tenant or moment. */
export interface WorkflowFile {
  workflowID?: string;
  title: string;
  workflowDescription: string | null;
  workflowOptions: Record<string, unknown>;
  workflowNodes: Record<string, unknown>[];
  workflowEdges: Record<string, unknown>[];
}

const FILE = 'workflow.json';
const CODE = 'code';

export function fileOf(workflow: Workflow): WorkflowFile {
  const { id, title, workflowDescription, workflowOptions, workflowNodes, workflowEdges } = workflow;
  return { workflowID: id, title, workflowDescription, workflowOptions, workflowNodes, workflowEdges };
}

/** A name that every file system takes, with the id of a workflow whose name is taken. */
export function folderName({ title, workflowID = '' }: WorkflowFile, taken: ReadonlySet<string>): string {
  const words = title
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 80);
  const name = words || workflowID;
  return taken.has(name) ? `${name}-${workflowID.slice(-12)}` : name;
}

/** Writes the folder of a workflow. Code of nodes has files of its own, so that changes of it read well. */
export async function writeWorkflow(dir: string, file: WorkflowFile): Promise<void> {
  await rm(join(dir, CODE), { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  const nodes = [];
  for (const node of file.workflowNodes) nodes.push(await withSeparateCode(dir, node));
  await writeFile(join(dir, FILE), stableJSON({ ...file, workflowNodes: nodes }));
}

async function withSeparateCode(dir: string, node: Record<string, unknown>): Promise<Record<string, unknown>> {
  const data = node.data as Record<string, unknown> | undefined;
  const code = data?.code;
  if (typeof code !== 'string' || !/^[\w-]{1,100}$/.test(String(node.id))) return node;
  const name = `${CODE}/${node.id}.js`;
  await mkdir(join(dir, CODE), { recursive: true });
  await writeFile(join(dir, name), code);
  return { ...node, data: { ...data, code: { file: name } } };
}

export async function readWorkflow(dir: string): Promise<WorkflowFile> {
  const path = join(dir, FILE);
  const text = await readFile(path, 'utf8').catch(() => {
    throw new UsageError(`${path} cannot be read: a folder of a workflow has a ${FILE}`);
  });
  const file = parsed(path, text);
  if (typeof file.title !== 'string' || !Array.isArray(file.workflowNodes))
    throw new UsageError(`${path}: expected a title and workflowNodes`);
  const nodes = [];
  for (const node of file.workflowNodes) nodes.push(await withCode(dir, node));
  return {
    ...(file.workflowID && { workflowID: file.workflowID }),
    title: file.title,
    workflowDescription: file.workflowDescription ?? null,
    workflowOptions: file.workflowOptions ?? {},
    workflowNodes: nodes,
    workflowEdges: file.workflowEdges ?? [],
  };
}

async function withCode(dir: string, node: Record<string, unknown>): Promise<Record<string, unknown>> {
  const data = node.data as Record<string, unknown> | undefined;
  const code = data?.code as { file?: unknown } | string | undefined;
  if (typeof code !== 'object') return node;
  const name = String(code.file);
  if (!new RegExp(`^${CODE}/[\\w-]+\\.js$`).test(name))
    throw new UsageError(
      `${join(dir, FILE)}: code of a node is in ${CODE}/<nodeID>.js, not in ${JSON.stringify(name)}`,
    );
  return { ...node, data: { ...data, code: await readFile(join(dir, name), 'utf8') } };
}

/** The folders of workflows. A word names a folder, one that has such folders, or the title or id of a workflow in a folder of `home`. */
export async function workflowFolders(words: readonly string[], home: string): Promise<string[]> {
  const found = new Set<string>();
  for (const word of words) {
    const inside = (await foldersIn(word)) ?? (await namedIn(home, word));
    if (inside.length === 0) throw new UsageError(`There is no ${FILE} in ${word}`);
    for (const folder of inside) found.add(folder);
  }
  return [...found].toSorted();
}

/** Undefined if it is no folder. */
async function foldersIn(dir: string): Promise<string[] | undefined> {
  const entries = await readdir(dir, { withFileTypes: true }).catch(() => undefined);
  if (!entries || entries.some(({ name }) => name === FILE)) return entries && [dir];
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(dir, name));
  const are = await Promise.all(folders.map(isWorkflow));
  return folders.filter((_folder, index) => are[index]);
}

async function namedIn(home: string, word: string): Promise<string[]> {
  const folders = (await foldersIn(home)) ?? [];
  const files = await Promise.all(folders.map(readWorkflow));
  const named = folders.filter((_folder, at) => files[at]?.workflowID === word || files[at]?.title === word);
  if (named.length === 1) return named;
  const what = named.length === 0 ? `${home} has no workflow` : `${named.join(' and ')} have workflows`;
  throw new UsageError(`${word} is no folder that can be read, and ${what} with this title or id`);
}

async function isWorkflow(dir: string): Promise<boolean> {
  return (await readdir(dir)).includes(FILE);
}

function parsed(path: string, text: string): Partial<WorkflowFile> {
  try {
    return parseExact(text) as Partial<WorkflowFile>;
  } catch (error) {
    throw new UsageError(`${path}: ${(error as Error).message}`);
  }
}
