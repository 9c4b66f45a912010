import { mainPage, mainWorkflow, type Template } from '../client/template.ts';
import type { ShownGraph } from '../graph/shown.ts';
import type { Named } from '../graph/summary.ts';

/** Few words for all that a template brings beside its workflow, and has to be given. */
export function marksOf({ items, needs }: Template): string[] {
  const has = (type: Template['items'][number]['type']) => items.some((item) => item.type === type);
  return [
    ...(has('cronJob') ? ['Cron job'] : []),
    ...(has('listener') ? ['Webhook'] : []),
    ...(has('appPage') ? ['Page'] : []),
    ...(has('file') ? ['File'] : []),
    ...needs.flatMap(({ kind }) =>
      kind === 'ai' ? ['Needs a language model'] : kind === 'datasource' ? ['Needs another database'] : [],
    ),
  ];
}

/** A title of a step, in which values that only a run has are named. */
export function shownTitle(title: unknown): string {
  return String(title ?? '').replace(/\{\{\s*(?:\w+\.)*(\w+)\s*\}\}/g, '‹$1›');
}

interface Saved {
  workflowNodes: { id: string; type: string; data: Record<string, unknown> }[];
  workflowEdges: { id: string; source: string; target: string; sourceHandle: string }[];
}

/** The graph of its workflow. The tests check templates by the schemas of the API. */
export function graphOf(template: Template): ShownGraph {
  const { workflowNodes, workflowEdges } = mainWorkflow(template).payload as unknown as Saved;
  return { nodes: workflowNodes, edges: workflowEdges };
}

/** The page that it opens, with the types of its widgets by their keys. */
export function pageIn(template: Template): { config: object; types: ReadonlyMap<string, string> } | undefined {
  const page = mainPage(template);
  if (!page) return undefined;
  const config = page.payload.appPageConfig as { widgets: string[] };
  const types = template.items.flatMap((item) =>
    item.type === 'widget'
      ? config.widgets
          .filter((key) => key.startsWith(`widget_${item.id}_`))
          .map((key) => [key, item.payload.widgetType] as const)
      : [],
  );
  return { config, types: new Map(types) };
}

/** Titles and texts of the queries that steps name. */
export function namedIn({ items }: Template): Named {
  return new Map(
    items.flatMap((item) => {
      if (item.type !== 'dataQuery') return [];
      const { query } = item.payload.dataQueryOptions as { query?: string };
      return [[item.id, { title: item.payload.dataQueryTitle, text: query }] as const];
    }),
  );
}
