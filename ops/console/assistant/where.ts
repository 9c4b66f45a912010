import { EXPLAIN, type OpenPage } from '../open-page/open-page.ts';

/** Characters of what goes along with a message; the API takes a little more. */
const MAX_CHARACTERS = 38_000;

/** Tells the model where the user is, without what is too much. */
export async function contextOf(path: string, opened: OpenPage | undefined): Promise<object> {
  const named = opened && { open: opened.kind, id: opened.id, title: opened.title };
  const read = opened ? await Promise.resolve(opened.read()).catch(() => ({})) : {};
  return bounded({ page: path, ...named, ...read });
}

/** The first fields of an object, as many as there is room for, and the names of the others. */
export function bounded(whole: object, most = MAX_CHARACTERS): object {
  const sent: [string, unknown][] = [];
  const leftOut: string[] = [];
  let left = most;
  for (const [name, value] of Object.entries(whole)) {
    const size = name.length + (JSON.stringify(value)?.length ?? 0) + 4;
    if (size > left) leftOut.push(name);
    else {
      sent.push([name, value]);
      left -= size;
    }
  }
  return Object.fromEntries(leftOut.length > 0 ? [...sent, ['tooLargeToSend', leftOut]] : sent);
}

const kinds: Record<OpenPage['kind'], string> = { workflow: 'Workflow', run: 'Run', query: 'Query', page: 'Page' };

/** Where one is, in words. */
export function wordsOf(page: string, opened: OpenPage | undefined): string {
  return opened ? `${kinds[opened.kind]} “${opened.title}”` : `Page “${page}”`;
}

/** Questions that fit a page. */
export function questionsAt(path: string, opened: OpenPage | undefined): string[] {
  if (opened?.kind === 'run')
    return opened.isFailed
      ? [EXPLAIN, 'How can I prevent this failure?', 'Which runs failed in the same way?']
      : ['What did this run do?', 'Which step took the longest, and why?'];
  if (opened?.kind === 'workflow')
    return ['What does this workflow do?', 'What could go wrong here, and how do I handle it?', 'Add a step that …'];
  if (opened?.kind === 'query')
    return ['Write a query that …', 'Explain this query', 'How can this query be made faster?'];
  if (opened?.kind === 'page') return ['What does this page do?', 'Add a button that …', 'Which queries does it run?'];
  const page = path.split('/')[3] ?? '';
  return (Object.hasOwn(ofPages, page) && ofPages[page]) || ofPages.home || [];
}

const ofPages: Readonly<Record<string, string[]>> = {
  home: [
    'What failed most in the last day?',
    'Which workflows, queries and tables does this tenant have?',
    'Draft a workflow that …',
  ],
  workflows: ['Draft a workflow that …', 'Which workflows have not run in the last month?'],
  runs: ['Why did the last runs fail?', 'Which workflow fails most?'],
  queries: ['Write a query that …', 'Which queries are slow?'],
  pages: ['Make a page of … with a button that …', 'Which pages does this tenant have?'],
  datasources: ['Which tables are there?', 'Do all connections work?'],
  database: ['Which tables are there, and how do they belong together?', 'Write a query that …'],
  cron: ['Which cron jobs did not run, and why?', 'When does which cron job run next?'],
  listeners: ['Why are there dead letters?', 'How do I receive webhooks of GitHub?'],
};
