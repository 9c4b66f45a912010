import { countOf } from '../../../ui/count.ts';
import type { Source, SourceType } from '../config.ts';

const MAX_NAMED = 4;

/** The person whose rights count for what a page shows and starts, in words. `creator` is "you", or a name. */
export function whoReads(kind: 'app-page' | 'dashboard', sources: readonly Source[], creator: string): string {
  if (kind === 'dashboard')
    return 'A dashboard gives no right to what is on it: each viewer sees the widgets that they may use themselves.';
  const named = (type: SourceType) => sources.filter((one) => one.type === type).map(({ alias }) => alias);
  const [reads, starts, lists] = [named('query'), named('workflow'), named('runs')];
  if (reads.length === 0 && starts.length === 0 && lists.length === 0)
    return `What you add under “Data” is read and started as ${creator}: viewers will need no right but to this page.`;
  const parts = [
    ...(reads.length > 0 ? [`read ${joined(reads, 'query', 'queries')}`] : []),
    ...(lists.length > 0 ? [`see the runs in ${joined(lists, 'list', 'lists')}`] : []),
    ...(starts.length > 0 ? [`start ${joined(starts, 'workflow', 'workflows')}`] : []),
  ];
  return `Viewers ${parts.join(' and ')} as ${creator}: they need no right but to this page. They set inputs only where you have given an expression; all other inputs are fixed.`;
}

function joined(names: readonly string[], one: string, several: string): string {
  if (names.length > MAX_NAMED) return countOf(names.length, one, several);
  return names.length === 1 ? `${names[0]}` : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
