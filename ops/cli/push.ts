import { GantryError } from '../client/index.ts';
import { UsageError } from './exit.ts';
import { stableJSON } from './output.ts';
import type { Session } from './session.ts';
import { fileOf, readWorkflow, type WorkflowFile, workflowFolders } from './workflow-files.ts';

interface PushOptions {
  dir: string;
  draft?: boolean;
  dryRun?: boolean;
}

interface Pushed {
  folder: string;
  workflowID: string | null;
  title: string;
  action: 'create' | 'update' | 'unchanged';
}

/** Every folder is read before anything is saved, so that a broken file changes nothing. */
export async function pushWorkflows(session: Session, words: string[], options: PushOptions): Promise<void> {
  const folders = await workflowFolders(words, options.dir);
  const files = await Promise.all(folders.map(readWorkflow));
  const pushed: Pushed[] = [];
  for (const [index, file] of files.entries())
    pushed.push({ folder: folders[index] ?? '', ...(await push(session, file, options)) });
  session.showRows(pushed, [
    ['action', ({ action }) => action],
    ['workflow', ({ workflowID }) => workflowID],
    ['title', ({ title }) => title],
    ['folder', ({ folder }) => folder],
  ]);
}

async function push(session: Session, file: WorkflowFile, options: PushOptions): Promise<Omit<Pushed, 'folder'>> {
  const { gantry, path } = session;
  const { workflowID: _ofTheFile, ...content } = file;
  // The service checks every node and edge; their types are those of its kinds.
  const body = { ...(content as object), ...(options.draft && { draft: true }) };
  const existing = await existingOf(session, file);
  const { title } = file;
  if (!existing) {
    if (options.dryRun) return { workflowID: null, title, action: 'create' };
    const { workflow } = await gantry.call('createWorkflow', { path, body });
    return { workflowID: workflow.id, title, action: 'create' };
  }
  const workflowID = existing.id;
  const isSame = stableJSON(fileOf(existing)) === stableJSON({ ...file, workflowID });
  // A draft that is the same may still wait to be published.
  const isPublished = existing.publishedVersionID === existing.versionID;
  if (isSame && (isPublished || options.draft)) return { workflowID, title, action: 'unchanged' };
  if (options.dryRun) return { workflowID, title, action: 'update' };
  const { workflow } = await gantry.call('updateWorkflow', { path: { ...path, workflowID }, body });
  // A file written by hand leaves out what the service fills in, so it differs from what is stored and changes nothing.
  const isLeft = stableJSON(fileOf(workflow)) === stableJSON(fileOf(existing));
  const isStillPublished = workflow.publishedVersionID === existing.publishedVersionID;
  return { workflowID, title, action: isLeft && isStillPublished ? 'unchanged' : 'update' };
}

async function existingOf({ gantry, path }: Session, { workflowID, title }: WorkflowFile) {
  const read = async (id: string) => (await gantry.call('getWorkflow', { path: { ...path, workflowID: id } })).workflow;
  if (workflowID) {
    const found = await read(workflowID).catch((error: unknown) => {
      // The file comes from another tenant, or the workflow was deleted: its title decides.
      if (error instanceof GantryError && error.status === 404) return undefined;
      throw error;
    });
    if (found) return found;
  }
  const { workflows } = await gantry.call('listWorkflows', { path, query: { search: title, limit: 100 } });
  const [first, second] = workflows.filter((workflow) => workflow.title === title);
  if (second)
    throw new UsageError(`Several workflows have the title ${JSON.stringify(title)}: write the workflowID of one`);
  return first && read(first.id);
}
