import type { BundledType, Plan } from '../client/bundles.ts';
import type { Tone } from '../ui/status.tsx';

type Item = Plan['items'][number];

/** The types that bundles hold, in the order in which they are offered. */
export const typeWords: Readonly<Record<BundledType, { one: string; many: string }>> = {
  workflow: { one: 'Workflow', many: 'Workflows' },
  dataQuery: { one: 'Query', many: 'Queries' },
  datasource: { one: 'Datasource', many: 'Datasources' },
  listener: { one: 'Listener', many: 'Listeners' },
  cronJob: { one: 'Cron job', many: 'Cron jobs' },
  appPage: { one: 'Page', many: 'Pages' },
  widget: { one: 'Widget', many: 'Widgets' },
  dashboard: { one: 'Dashboard', many: 'Dashboards' },
  variable: { one: 'Variable', many: 'Variables' },
  role: { one: 'Role', many: 'Roles' },
  folder: { one: 'Folder', many: 'Folders' },
};

/** The fates of an item in an import. */
export const actionWords: Readonly<Record<Item['action'], { word: string; tone: Tone }>> = {
  create: { word: 'New', tone: 'ok' },
  update: { word: 'Changed', tone: 'busy' },
  unchanged: { word: 'As it is', tone: 'idle' },
  conflict: { word: 'Changed here too', tone: 'wait' },
  skip: { word: 'Left out', tone: 'bad' },
};

/** Remarks that a person has to know before an item is imported. */
export function notesOf({ warnings, missingDependencies, tables, type, action }: Item): string[] {
  return [
    ...warnings,
    ...missingDependencies.map(({ type: of, id }) => `It needs a ${of} that is neither here nor in the bundle: ${id}`),
    ...(tables.length > 0 ? [`It needs tables that no bundle brings: ${tables.join(', ')}`] : []),
    ...((type === 'listener' || type === 'cronJob') && action === 'create' ? ['It arrives switched off'] : []),
  ];
}

/** A path in an item, in words. */
export function pathWords(path: readonly (string | number)[]): string {
  return path.join(' › ');
}
