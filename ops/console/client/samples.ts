import { executeSQL } from './database.ts';
import { body, rest } from './rest.ts';
import { uploadFile } from './sources.ts';
import type { Schemas } from './types.ts';

type BundleItem = Schemas['BundleItem'];

/** A file of `ops/samples`, of which the build has copied those that Home offers. */
interface Sample {
  setup: string[];
  variables: BundleItem['payload'][];
  items: (BundleItem | { type: 'file'; id: string; payload: { fileName: string; content: string } })[];
}

/** Answers with the id of the workflow. Repeated, it adds nothing: an import knows the keys of what it has brought. */
export async function installSample(tenantID: string, name: string): Promise<string> {
  const sample = await readSample(name);
  for (const sql of sample.setup) await executeSQL(tenantID, sql);
  const items = [...variablesOf(sample), ...(await withFiles(tenantID, sample))];
  const bundle: Schemas['Bundle'] = { bundleVersion: 1, generator: 'gantry', items };
  const params = { path: { tenantID } };
  const { results } = await body(rest.POST('/api/v1/tenants/{tenantID}/import/execute', { params, body: { bundle } }));
  const workflow = results.find(({ type }) => type === 'workflow');
  if (!workflow) throw new Error(`The sample ${name} has no workflow`);
  return workflow.newID;
}

async function readSample(name: string): Promise<Sample> {
  const answer = await fetch(`/console/samples/${name}.json`);
  if (!answer.ok) throw new Error(`The sample ${name} could not be read: the server answered ${answer.status}`);
  return answer.json();
}

/** A file names them beside its items. Their keys are those behind its items'. */
function variablesOf({ variables, items }: Sample): BundleItem[] {
  const first = items[0]?.id ?? '';
  return variables.map((payload, at) => ({ type: 'variable', id: `${first.slice(0, -2)}${90 + at}`, payload }));
}

/** The items but the files, which no bundle has: they are uploaded, and their keys replaced. */
async function withFiles(tenantID: string, { items }: Sample): Promise<BundleItem[]> {
  const files = items.filter((item) => item.type === 'file');
  const others = items.filter((item) => item.type !== 'file');
  let text = JSON.stringify(others);
  for (const { id, payload } of files) {
    const { fileID } = await uploadFile(tenantID, new File([payload.content], payload.fileName));
    text = text.replaceAll(id, fileID);
  }
  const named = JSON.parse(text) as BundleItem[];
  return named.map(({ dependencies = [], ...item }) => ({
    ...item,
    dependencies: dependencies.filter(({ type }) => type !== 'file'),
  }));
}
